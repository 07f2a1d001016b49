"""The memory planner of TVM's Relay, which counts the uses of each tensor and reuses storages without remaining uses.

Source: apache/tvm v0.14, src/relay/backend/graph_plan_memory.cc (StorageAllocaInit, StorageAllocator), first in pull
request 2120. Nothing is computed in place, so an operation's outputs get storages before those of its inputs are
released. A view, such as the output of a reshape, is in the storage of its source. Storages of different pools never
mix. In a pool whose name ends in a texture scope, storages have two dimensions and one element type each. Sizes are
those of the operations, which pack elements smaller than a byte; Relay gives each element a byte.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import prod

from memplan.planner.errors import OperationsError, excerpt, path_of
from memplan.programs.liveness.liveness import StoragePlan, StorageToken
from memplan.programs.operations.operations import DeclaredBuffer, Function, Operations
from memplan.programs.operations.statements import Alloc, Free, Operation
from memplan.runtimes.tvm.relay_tokens import FreeTextures, FreeTokens, Token

_SCOPES = ("global.texture", "global.texture-nhwc", "global.texture-weight")


def plan_storages(operations: Operations, match_range: int) -> StoragePlan:
    """Return storages for the buffers of the entry function, whose body must be a plain list of operations.

    A storage is reused for a tensor of 1/`match_range` to `match_range` times its size; 0 disables reuse. Params,
    constants and persistent buffers have separate storages. Raises OperationsError for other statements.
    """
    function = operations.functions[operations.entry]
    ops = [op for op in function.body if isinstance(op, Operation)]
    for k, statement in enumerate(function.body):
        if not isinstance(statement, Operation | Alloc | Free) or (isinstance(statement, Operation) and statement.body):
            where = path_of(("functions", operations.entry, "body", k))
            raise OperationsError(f"{where}: must be an operation without a body, as Relay's planner requires")
    allocator = _Allocator(function, ops, match_range)
    at = {name: allocator.at[root] for name, root in allocator.root.items() if root in allocator.at}
    fields = {name: function.fields_of(name) for name in (*function.declarations, *function.tuples)}
    return StoragePlan(
        {name: tuple(at[each].token.storage for each in of) for name, of in fields.items() if at.keys() >= {*of}},
        {name: tuple(allocator.uses[each] for each in of) for name, of in fields.items()},
        tuple(storage.answer_token() for storage in allocator.made),
    )


@dataclass(eq=False)
class _Storage:
    """A storage in use: its token, its first buffer, the number of remaining uses, and whether it may be reused."""

    token: Token
    row: DeclaredBuffer
    realloc: bool
    ref_counter: int = 0

    def answer_token(self) -> StorageToken:
        """Return the storage as shown in the answer; as in Relay's reports, a texture has sides instead of bytes."""
        width, height = self.token.width, self.token.height
        bytes_and_sides = (0, (width, height)) if _is_texture(self.row) else (width, None)
        return StorageToken(self.token.storage, bytes_and_sides[0], self.realloc, self.row.pools, bytes_and_sides[1])


class _Allocator:
    """Relay's two passes over a function: the first counts uses, the second assigns storages to each operation."""

    def __init__(self, function: Function, ops: list[Operation], match_range: int) -> None:
        """Assign storages to a function's buffers; reused storages are within a factor `match_range` in size."""
        self.function = function
        self.root = {row.id: row.alias_of or row.id for row in function.buffers}
        self.uses: Counter[str] = Counter(function.results)
        self.at: dict[str, _Storage] = {}
        self.made: list[_Storage] = []
        self._counted: set[str] = set()
        self._free = defaultdict[object, FreeTokens](lambda: FreeTokens(match_range))
        self._textures = defaultdict[object, FreeTextures](FreeTextures)
        apart = {*function.params, *function.constants, *(row.id for row in function.buffers if row.persistent)}
        used = self._count_uses(ops, set(apart))
        for row in function.buffers:
            if row.id in apart:
                self._assign_storage(row.id, may_take=False)
        for op, names in zip(ops, used, strict=True):
            self._assign_storages(op, names)

    def _count_uses(self, ops: list[Operation], made: set[str]) -> list[list[str]]:
        """Count the uses of each buffer; return, for each operation, the names that it uses.

        A second write of a buffer counts as a use unless the same operation also reads the buffer. A view that no
        operation writes is alive as long as its buffer.
        """
        used: list[list[str]] = []
        for op in ops:
            read, written = ({self.root[name] for name in names} for names in (op.inputs, op.outputs))
            used.append([*op.inputs, *op.temporaries, *sorted(written & made - read)])
            made |= read | written
            self.uses.update(used[-1])
        for name in self.root.keys() - {name for op in ops for name in op.outputs}:
            self.uses[self.root[name]] += self.uses[name] if name != self.root[name] else 0
        return used

    def _assign_storages(self, op: Operation, used: list[str]) -> None:
        """Assign storages to an operation's outputs, and release the storages that no later operation uses."""
        for name in (*op.outputs, *used):
            if self.root[name] not in self.at:
                self._assign_storage(name)
            elif name in op.outputs and name not in self._counted:
                self._counted.add(name)
                self.at[self.root[name]].ref_counter += self.uses[name]
        for root in dict.fromkeys(self.root[name] for name in op.outputs):
            self._release_if_unused(self.at[root])
        for name in used:
            self.at[self.root[name]].ref_counter -= 1
            self._release_if_unused(self.at[self.root[name]])

    def _assign_storage(self, name: str, may_take: bool = True) -> None:
        """Assign a free or new storage to a buffer; unless `may_take`, assign a new storage that is never reused."""
        root = self.root[name]
        row = self.function.declarations[root]
        sides = _texture_sides(row) if _is_texture(row) else (row.bytes, 1)
        token = self._reusable_storages(row).take(*sides) if may_take else None
        if token is None:
            token = Token(len(self.made), *sides)
            self.made.append(_Storage(token, row, may_take))
        self.at[root] = storage = self.made[token.storage]
        storage.realloc &= not token.has_grown
        self._counted |= {name, root}
        # A storage without `realloc` must not be reused, so count one extra use that is never released.
        storage.ref_counter += sum(self.uses[each] for each in {name, root}) + (not storage.realloc)

    def _release_if_unused(self, storage: _Storage) -> None:
        if storage.ref_counter == 0:
            self._reusable_storages(storage.row).put(storage.token)

    def _reusable_storages(self, row: DeclaredBuffer) -> FreeTokens | FreeTextures:
        return self._textures[row.pools, row.dtype] if _is_texture(row) else self._free[row.pools]


def _is_texture(row: DeclaredBuffer) -> bool:
    return any(pool.endswith(_SCOPES) for pool in row.pools or ())


def _texture_sides(row: DeclaredBuffer) -> tuple[int, int]:
    """Return the width and height of the texture for a buffer's shape, whose last axis is the channels.

    Source: src/runtime/texture.h (DefaultTextureLayoutSeparator, ApplyTexture2DFlattening).
    """
    shape, pool = row.shape, (row.pools or ("",))[0]
    if shape is None or len(shape) < 2:
        raise OperationsError(f"{row.id}.shape: must have at least 2 axes in {pool}, got {excerpt(shape)}")
    axis = 1 if pool.endswith("-weight") else len(shape) - 2
    axis = (1 if len(shape) == 3 else 2) if pool.endswith("-nhwc") else axis
    return prod(shape[axis:-1]), prod(shape[:-1][:axis])
