"""The loop nests of a kernel and the parameters that each nest uses, so that lifetimes can be shorter than a call."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tvm_ffi
from tvm import DataType, s_tir, tirx


@dataclass(frozen=True)
class Nest:
    """A loop nest: the positions of the parameters that it uses, and the pairs of parameters that may share bytes."""

    uses: frozenset[int]
    in_place: tuple[tuple[int, int], ...] = ()


def root_of(kernel: tirx.PrimFunc) -> Any:
    """Return the root block of a kernel, or None if the kernel's body is not a root block."""
    body = kernel.body
    is_root = isinstance(body, s_tir.SBlockRealize) and not body.iter_values
    return body.block if is_root else None


def nests_of(kernel: tirx.PrimFunc) -> tuple[Nest, ...]:
    """Return the loop nests at a kernel's root in order or, if they cannot be read, a nest with all parameters."""
    root = root_of(kernel)
    body = [] if root is None else root.body.seq if isinstance(root.body, tirx.SeqStmt) else [root.body]
    if not body or not all(isinstance(each, (tirx.For, s_tir.SBlockRealize)) for each in body):
        return (Nest(frozenset(range(len(kernel.params)))),)
    places = {parameter: k for k, parameter in enumerate(kernel.params)}
    nests = []
    for nest in body:
        used = frozenset(places[each] for each in tirx.analysis.undefined_vars(nest) if each in places)
        nests.append(Nest(used, tuple(_overwritable_pairs(nest, places))))
    return tuple(nests)


def _overwritable_pairs(nest: Any, places: Mapping[Any, int]) -> Iterator[tuple[int, int]]:
    """Yield pairs of parameter positions: the first parameter is read in the nest, the second may overwrite it."""
    while isinstance(nest, tirx.For):
        nest = nest.body
    if not isinstance(nest, s_tir.SBlockRealize):
        return
    block = nest.block
    if block.init is not None or len(block.writes) != 1 or block.alloc_buffers or block.match_buffers:
        return
    written = block.writes[0]
    indices = [each.min for each in written.region]
    if len(indices) != len(block.iter_vars) or {*indices} != {each.var for each in block.iter_vars}:
        return
    if any(each.source.same_as(written.source) for each in block.reads) or written.source not in places:
        return
    for read in block.reads:
        reads = [each for each in block.reads if each.source.same_as(read.source)]
        is_same = len(reads) == 1 and tvm_ffi.structural_equal(read.region, written.region)
        if is_same and read.source in places and _is_same_layout(read.source, written.source):
            yield places[read.source], places[written.source]


def _is_same_layout(one: Any, other: Any) -> bool:
    sizes = [DataType(str(each.dtype)).itemsize for each in (one, other)]
    return bool(sizes[0] == sizes[1] and tvm_ffi.structural_equal(one.shape, other.shape))
