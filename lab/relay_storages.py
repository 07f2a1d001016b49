"""Relay's memory planner on operations: it counts the uses of every tensor, then hands storages from one to the next.

Source: apache/tvm, src/relay/backend/graph_plan_memory.cc (v0.14: StorageAllocaInit, StorageAllocator), first in pull
request 2120. A storage is free once all uses of what lies in it are over; an operation's outputs come before its inputs
are released, for nothing is computed in place. Reshapes share their input's storage. A value is a list of tensors: of
one, or, for a tuple and for an operation with several outputs, of more. A tuple and an item of one have no storage of
their own, they only name the tensors they are made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memplan.planner.errors import ProblemError, shown
from memplan.solvers.objects.relay_tokens import MATCH_RANGE, FreeTextures, FreeTokens, TensorType, Token


@dataclass(frozen=True)
class RelayParameter:
    """An input or a constant: it has storage of its own, which no other value gets."""

    name: str
    type: TensorType


@dataclass(frozen=True)
class RelayCall:
    """An operation that writes its outputs while its inputs are alive.

    Where it `may_reuse`, the outputs may go where something else has been; else they are new, like parameters.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[TensorType, ...]
    may_reuse: bool = True


@dataclass(frozen=True)
class Reshape:
    """The same bytes in another shape: the output is the input."""

    name: str
    input: str
    output: TensorType


@dataclass(frozen=True)
class Bundle:
    """A tuple of values: all their tensors, one after the other."""

    name: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Item:
    """One tensor of a tuple, or one output of an operation."""

    name: str
    of: str
    index: int


Operation = RelayParameter | RelayCall | Reshape | Bundle | Item


def inputs_of(operation: Operation) -> tuple[str, ...]:
    """Return the names of the values that an operation takes."""
    match operation:
        case RelayParameter():
            return ()
        case RelayCall():
            return operation.inputs
        case Reshape():
            return (operation.input,)
        case Bundle():
            return operation.fields
        case Item():
            return (operation.of,)


def check(operations: Sequence[Operation], results: Sequence[str]) -> None:
    """Raise ProblemError where a value is named twice, before it exists, or has no such item."""
    width: dict[str, int] = {}
    for k, operation in enumerate(operations):
        where = f"operations[{k}]"
        if operation.name in width:
            raise ProblemError(f"{where}.name: must be unique, got {shown(operation.name)} again")
        for name in inputs_of(operation):
            if name not in width:
                raise ProblemError(f"{where}: must take values of operations before it, got {shown(name)}")
        width[operation.name] = _width(operation, width, where)
    for k, name in enumerate(results):
        if name not in width:
            raise ProblemError(f"results[{k}]: must name an operation, got {shown(name)}")


def _width(operation: Operation, width: dict[str, int], where: str) -> int:
    match operation:
        case RelayCall():
            return len(operation.outputs)
        case Reshape() if width[operation.input] != 1:
            raise ProblemError(f"{where}.input: must be one tensor, got {width[operation.input]}")
        case Bundle():
            return sum(width[name] for name in operation.fields)
        case Item() if not 0 <= operation.index < width[operation.of]:
            tensors = width[operation.of]
            raise ProblemError(f"{where}.index: must be at least 0 and below {tensors}, got {operation.index}")
    return 1


@dataclass(frozen=True)
class Storage:
    """A storage: bytes, or for a texture its sides, and 0 bytes as in Relay's own account."""

    size: int
    device: str
    scope: str
    texture: tuple[int, int] | None = None


@dataclass(frozen=True)
class StorageAction:
    """An action on a storage for an operation; `size` is the size of the storage after it."""

    operation: str
    action: str  # new, reuse, share or release
    storage: int
    size: int


@dataclass(frozen=True)
class StoragePlan:
    """The storages of each value's tensors, and the uses that were counted for them beforehand."""

    ids: Mapping[str, tuple[int, ...]]
    uses: Mapping[str, tuple[int, ...]]
    storages: tuple[Storage, ...]
    steps: tuple[StorageAction, ...]

    @property
    def total(self) -> int:
        """Bytes of all storages together."""
        return sum(storage.size for storage in self.storages)


def plan_storages(
    operations: Sequence[Operation],
    results: Sequence[str],
    match_range: int = MATCH_RANGE,
    storage_alignment: int = 1,
) -> StoragePlan:
    """Plan operations in execution order, whose `results` stay alive.

    `storage_alignment` rounds sizes up to that many bytes. Raises ProblemError for operations that make no sense.
    """
    check(operations, results)
    wanted = _count_uses(operations, results)
    uses = {name: tuple(token.uses for token in tokens) for name, tokens in wanted.items()}
    allocator = _Allocator(wanted, match_range, storage_alignment)
    for operation in operations:
        allocator.run(operation)
    ids = {name: tuple(token.storage for token in tokens) for name, tokens in allocator.tokens.items()}
    return StoragePlan(ids, uses, allocator.storages(), tuple(allocator.steps))


def _named(operation: Bundle | Item, tokens: Mapping[str, Sequence[Token]]) -> list[Token]:
    if isinstance(operation, Item):
        return [tokens[operation.of][operation.index]]
    return [token for name in operation.fields for token in tokens[name]]


def _count_uses(operations: Sequence[Operation], results: Sequence[str]) -> dict[str, list[Token]]:
    """Return a token for each tensor, with the uses it will have; results are used once more, by the caller."""
    tokens: dict[str, list[Token]] = {}
    for operation in operations:
        match operation:
            case RelayParameter():
                tokens[operation.name] = [Token(operation.type)]
            case RelayCall():
                tokens[operation.name] = [Token(output) for output in operation.outputs]
            case Reshape():
                tokens[operation.name] = [Token(operation.output)]
            case Bundle() | Item():
                tokens[operation.name] = _named(operation, tokens)
        if isinstance(operation, RelayCall | Reshape):
            for name in inputs_of(operation):
                for token in tokens[name]:
                    token.uses += 1
    for name in results:
        for token in tokens[name]:
            token.uses += 1
    return tokens


class _Allocator:
    """The second pass: `tokens` are those in use, which stand for the `wanted` ones."""

    def __init__(self, wanted: Mapping[str, list[Token]], match_range: int, storage_alignment: int) -> None:
        self.wanted = wanted
        self.alignment = storage_alignment
        self.tokens: dict[str, list[Token]] = {}
        self.made: list[Token] = []
        self.free = FreeTokens(match_range)
        self.textures = FreeTextures()
        self.steps: list[StorageAction] = []

    def run(self, operation: Operation) -> None:
        """Find storages for what an operation makes, and release what it used for the last time."""
        if isinstance(operation, Bundle | Item):
            self.tokens[operation.name] = _named(operation, self.tokens)
            return
        self.tokens[operation.name] = [self._output(operation, token) for token in self.wanted[operation.name]]
        if isinstance(operation, RelayParameter):
            return
        for token in self.tokens[operation.name]:  # those that are never used
            self._release_if_unused(operation.name, token)
        for name in inputs_of(operation):
            for token in self.tokens[name]:
                token.uses -= 1
                self._release_if_unused(operation.name, token)

    def storages(self) -> tuple[Storage, ...]:
        """Return all storages by number."""
        return tuple(self._storage(k, token) for k, token in enumerate(self.made))

    def _storage(self, k: int, token: Token) -> Storage:
        texture = self.textures.textures.get(k)
        sides = None if texture is None else (texture.width, texture.height)
        return Storage(token.max_bytes, token.type.device, token.type.scope, sides)

    def _output(self, operation: RelayParameter | RelayCall | Reshape, wanted: Token) -> Token:
        if isinstance(operation, Reshape):
            token = self.tokens[operation.input][0]
            token.uses += wanted.uses
            return self._noted(operation.name, "share", token)
        if isinstance(operation, RelayCall) and operation.may_reuse:
            known = self._request(wanted)
            return self._noted(operation.name, *(("new", self._new(wanted)) if known is None else ("reuse", known)))
        token = self._new(wanted)
        token.uses += 1  # never released
        return self._noted(operation.name, "new", token)

    def _request(self, wanted: Token) -> Token | None:
        if wanted.type.is_texture:
            return self.textures.take(wanted)
        token = self.free.take(wanted.type.size(self.alignment), wanted.type.device)
        if token is not None:
            token.uses = wanted.uses
        return token

    def _new(self, token: Token) -> Token:
        token.storage = len(self.made)
        self.made.append(token)
        if token.type.is_texture:
            self.textures.add(token)
        else:
            token.max_bytes = token.type.size(self.alignment)
        return token

    def _release_if_unused(self, operation: str, token: Token) -> None:
        if token.uses == 0:
            free: FreeTextures | FreeTokens = self.textures if token.type.is_texture else self.free
            free.put(token)
            self._noted(operation, "release", token)

    def _noted(self, operation: str, action: str, token: Token) -> Token:
        self.steps.append(StorageAction(operation, action, token.storage, token.max_bytes))
        return token
