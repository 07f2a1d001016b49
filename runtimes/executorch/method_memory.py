"""The bytes that ExecuTorch allocates for a loaded method, on processors with pointers of 4 or 8 bytes.

The runtime loads a method into an allocator that the caller provides: values, tensors, delegates and arguments of
instructions. The objects follow one another, each at its own alignment, from an aligned start. Memory that a delegate
itself allocates is not included. Source: pytorch/executorch cff6f4dd3, runtime/executor/method.cpp,
tensor_parser_portable.cpp, tensor_parser.h; sizes by compilers for x86-64 and Cortex-M.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from memplan.runtimes.flatbuffer import Table

_TENSOR, _STRING, _INTS, _DOUBLES, _BOOLS, _TENSORS, _OPTIONALS = range(5, 12)
"""The numbers of kinds of values in the union KernelTypes of program.fbs."""
_KERNEL, _DELEGATE = 1, 2
"""The numbers of calls in the union InstructionArguments."""
_TENSOR_BYTES, _BUFFER = {4: 32, 8: 64}, {4: 32, 8: 40}
"""The bytes of a tensor, and of the handle of a delegate's data, keyed by the bytes of a pointer."""
_VALUE, _MOST_DIMS = (16, 8), 16
"""The size and alignment of a value, and the bytes for tensor dimensions while a kernel is chosen."""


@dataclass(frozen=True)
class MethodMemory:
    """The bytes that a loaded method occupies: `kept` while it is loaded, `chosen` only while kernels are chosen."""

    kept: int
    chosen: int


def method_memory(plan: Table, word: int) -> MethodMemory:
    """Return the bytes that the method of table `plan` occupies once loaded, for pointers of `word` bytes."""
    end = 0
    for size, alignment in _allocations(plan, word):
        end = -(-end // alignment) * alignment + size
    calls = [count for chain in _instructions_by_chain(plan) for kind, count in chain if kind == _KERNEL]
    return MethodMemory(end, max(calls, default=0) * (3 * word + _MOST_DIMS))


def _allocations(plan: Table, word: int) -> Iterator[tuple[int, int]]:
    """Yield (size, alignment) in bytes of each object that a loaded method needs, in the runtime's allocation order."""
    values = [(row.integer(0, "val_type", "B"), row.table(1, "val")) for row in plan.tables(2, "values")]
    yield _VALUE[0] * len(values), _VALUE[1]
    if n_inputs := plan.byte_count(3, "inputs"):
        yield n_inputs, 1
    if n_outside := sum(kind == _TENSOR and row is not None and _is_outside(row) for kind, row in values):
        yield (8 + _BUFFER[word]) * n_outside, 8
    for kind, row in values:
        if row is not None:
            yield from _value_allocations(kind, row, word)
    delegates = list(plan.tables(7, "delegates"))
    yield (_BUFFER[word] + 2 * word) * len(delegates), 8
    for row in delegates:
        yield 3 * word * row.byte_count(2, "compile_specs"), word
    chains = list(_instructions_by_chain(plan))
    yield 4 * word * len(chains), word
    for chain in chains:
        yield word * len(chain), word
        yield 2 * word * len(chain), word
        for kind, count in chain:
            if kind in (_KERNEL, _DELEGATE):
                yield word * count, word


def _value_allocations(kind: int, row: Table, word: int) -> Iterator[tuple[int, int]]:
    """Yield (size, alignment) in bytes of each object that a value needs in addition to its entry in the value list."""
    if kind == _TENSOR:
        dims = row.byte_count(2, "sizes")
        if row.integer(8, "shape_dynamism", "b"):
            yield 4 * dims, 4
            yield dims, 1
        yield 4 * dims, 4
        yield _TENSOR_BYTES[word], word
    elif kind in (_STRING, _DOUBLES, _BOOLS):
        yield 2 * word, word
    elif kind in (_INTS, _TENSORS, _OPTIONALS):
        count = row.byte_count(0, "items")
        pointers, contents = (word * count, word), {_INTS: (8 * count, 8), _TENSORS: (word * count, word)}
        yield from (pointers, contents.get(kind, (2 * word * count, word)))
        yield 3 * word, word


def _is_outside(tensor: Table) -> bool:
    extra = tensor.table(9, "extra_tensor_info")
    return extra is not None and extra.integer(2, "location", "b") == 1


def _instructions_by_chain(plan: Table) -> Iterator[list[tuple[int, int]]]:
    """Yield each chain (list) of instructions as a list of (instruction kind, number of arguments)."""
    for chain in plan.tables(5, "chains"):
        rows = [
            (row.integer(0, "instr_args_type", "B"), row.table(1, "instr_args"))
            for row in chain.tables(2, "instructions")
        ]
        yield [
            (kind, 0 if args is None or kind not in (_KERNEL, _DELEGATE) else args.byte_count(1, "args"))
            for kind, args in rows
        ]
