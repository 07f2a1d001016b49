"""Remedies for a step that does not fit: a smaller batch, recomputation, another order; each remedy is verified.

The largest size is estimated from one recording in which it is a symbol, then verified by recording the step at that
size and at the next one. Modules to checkpoint are also verified by recording. An order is planned, and a check that
shares no code with the search executes it at the planned addresses.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sympy
import torch
from torch._dynamo.source import ConstantSource
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
from torch.utils._pytree import tree_leaves, tree_map_only

from memplan.extensions.torch.inside.answer import BetterOrder, Checkpointed, LargestSize, Ways
from memplan.extensions.torch.inside.recording import Recording
from memplan.extensions.torch.inside.step import TorchStep
from memplan.planner.errors import InputError
from memplan.programs.operations.graph import GraphOperation, OperationGraph
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.order import order
from memplan.runtimes.torch.storages import StepMemory

MOST = 1 << 20
"""The largest size that is tried."""
Tries = Callable[[StepMemory], bool]
"""The type of a function that returns True if a recorded step fits."""


Sizes = Mapping[str, tuple[int, Callable[[int], TorchStep]]]
"""Maps the name of a size to its value in a step, and to a function that returns the step at another value."""


def find_remedies(
    step: TorchStep,
    recording: Recording,
    usable: int,
    fits: Tries,
    run: Callable[..., Recording],
    sizes: Sizes,
    time_limit_s: float,
) -> Ways:
    """Return the remedies for a step that does not fit.

    `run` records a step; its option `checkpointed` names modules to recompute. `fits` tells whether a recording fits.
    """

    def record(changed: TorchStep) -> bool:
        """Return True if the changed step fits; a step that the model refuses does not fit."""
        try:
            return fits(run(changed))
        # An InputError means that the model does not accept the changed size, so the size does not fit.
        except InputError:
            return False

    recompute = None
    if step.is_training:
        recompute = choose_checkpoints(recording, recording.names, lambda names: fits(run(step, checkpointed=names)))
    return Ways(
        sizes=tuple(
            largest_by_trials(name, (size, step_of), record, largest_by_symbols(size, step_of, run, fits))
            for name, (size, step_of) in sizes.items()
        ),
        checkpoint=recompute,
        order=better_order(recording, max(usable, 0), time_limit_s),
    )


def sizes_of(step: TorchStep) -> Sizes:
    """Return the sizes that may change, by name: the inputs' first axis (batch) and, for texts, the second (length).

    Each size comes with a function that returns the step at another size.
    """
    first = next((value for value in tree_leaves(step.inputs) if isinstance(value, torch.Tensor)), None)
    is_text = first is not None and first.dim() == 2 and not first.is_floating_point()
    names = ("batch", "length") if is_text else ("batch",) if first is not None and first.dim() else ()
    return {name: resize_step(step, axis) for axis, name in enumerate(names)}


def largest_by_trials(
    name: str, sized: tuple[int, Callable[[int], TorchStep]], record: Callable[[TorchStep], bool], guess: int | None
) -> LargestSize:
    """Return the largest size at which a step fits, by trying a guess and the next size, then bisecting.

    `sized` is the first size and a function from another size to its step; `record` returns True if a step fits.
    """
    tried: dict[int, bool] = {}
    low, high, size = 0, MOST + 1, sized[0] if guess is None else max(guess, 1)
    while high - low > 1 and 1 <= size <= MOST:
        tried[size] = record(sized[1](size))
        if tried[size]:
            low = size
        else:
            high = size
        size = guess + 1 if low == guess else (low + high) // 2 if low and high <= MOST else 2 * low or high // 2
    return LargestSize(name=name, size=low or None, tried=len(tried))


def largest_by_symbols(
    size: int, step_of: Callable[[Any], TorchStep], run: Callable[..., Recording], fits: Tries
) -> int | None:
    """Return a guess of the largest size at which a step fits; None if the step cannot be recorded.

    The step is recorded once, with a symbol as the size. The result is a guess, since torch may take other branches at
    other sizes.
    """
    env = ShapeEnv()
    source = ConstantSource("size")
    try:
        symbol = env.create_symbol(size, source, DimDynamic.DYNAMIC)
        with FakeTensorMode(shape_env=env, static_shapes=True, allow_non_fake_inputs=True):
            step = step_of(env.create_symintnode(symbol, hint=size, source=source))
            recording = run(step)
    except Exception:  # noqa: BLE001  # A script that uses a number without a value can raise any exception.
        return None
    sizes = [_size_expression(tensor.size) for tensor in recording.tensors]
    # A replaced symbol means that the script works for one size only, so there is no expression for other sizes.
    if symbol in env.replacements:
        return None
    low, high = 0, MOST + 1
    while high - low > 1:
        middle = (low + high) // 2 if high <= MOST else min(2 * (low or size), MOST)
        values = {expression: int(expression.xreplace({symbol: sympy.Integer(middle)})) for expression in {*sizes}}
        tensors = [replace(row, size=values[each]) for row, each in zip(recording.tensors, sizes, strict=True)]
        if fits(StepMemory(tensors, recording.events)):
            low = middle
        else:
            high = middle
    return low or None


def _size_expression(size: Any) -> sympy.Expr:
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)


def resize_step(step: TorchStep, axis: int) -> tuple[int, Callable[[int], TorchStep]]:
    """Return an axis's size in the first input, and a function from another size to the step with that size."""
    size = next(int(value.shape[axis]) for value in tree_leaves(step.inputs) if isinstance(value, torch.Tensor))

    def resize(value: Any, other: int) -> Any:
        if value.dim() <= axis or value.shape[axis] != size:
            return value
        shape = [*value.shape]
        shape[axis] = other
        return torch.empty(shape, dtype=value.dtype, device="meta")

    def step_of(other: int) -> TorchStep:
        inputs, targets = tree_map_only(torch.Tensor, lambda value: resize(value, other), (step.inputs, step.targets))
        return replace(step, inputs=inputs, targets=targets)

    return size, step_of


def choose_checkpoints(
    recording: Recording, names: Sequence[str], tries: Callable[[Sequence[str]], bool]
) -> Checkpointed:
    """Return the fewest modules whose recomputation makes a step fit.

    Modules are taken in the order of bytes saved per cost. `names` are all modules; `tries(chosen)` records a step that
    recomputes the modules `chosen`, and returns True if that step fits.
    """
    saved, cost = Counter[str](), Counter[str]()
    blocks = _checkpoint_blocks(recording, names)
    for tensor in recording.tensors:
        if tensor.role == "activations" and (block := _block_of(tensor.module, blocks)) is not None:
            saved[block] += tensor.size
    total = 0
    for operation in recording.operations:
        total += operation.cost
        if operation.phase == "forward" and (block := _block_of(operation.module, blocks)) is not None:
            cost[block] += operation.cost
    ranked = sorted(saved, key=lambda block: (-saved[block] / (1 + cost[block]), blocks.index(block)))
    low, high, tried = 0, len(ranked) + 1, 0
    while high - low > 1:
        middle = (low + high) // 2
        tried += 1
        low, high = (low, middle) if tries(ranked[:middle]) else (middle, high)
    if high > len(ranked):
        return Checkpointed(modules=None, extra_cost=0.0, tried=tried)
    chosen = sorted(ranked[:high], key=blocks.index)
    extra = sum(cost[block] for block in chosen) / max(total, 1)
    return Checkpointed(modules=tuple(chosen), extra_cost=extra, tried=tried)


def _checkpoint_blocks(recording: Recording, names: Sequence[str]) -> list[str]:
    busy = {tensor.module for tensor in recording.tensors if tensor.role == "activations"}
    inner = [name for name in names if name and any(each.startswith(f"{name}.") for each in busy)]
    beside = Counter(name.rpartition(".")[0] for name in inner)
    chosen: list[str] = []
    for name in inner:
        if beside[name.rpartition(".")[0]] > 1 and _block_of(name, chosen) is None:
            chosen.append(name)
    return chosen


def _block_of(module: str, blocks: Sequence[str]) -> str | None:
    """Return the block among `blocks` that equals or contains the module, or None."""
    return next((block for block in blocks if module == block or module.startswith(f"{block}.")), None)


def better_order(recording: Recording, capacity: int | None, time_limit_s: float) -> BetterOrder:
    """Return a recorded step's memory in the best order, with recomputation if the capacity requires it."""
    graph = graph_of(recording)
    options = OrderOptions(time_limit_s=time_limit_s / 2)
    answer = order(graph, options)
    peak = answer.placed_peak or answer.peak
    recomputed, extra = None, 0.0
    if capacity is not None and peak > capacity:
        again = order(graph, OrderOptions(recompute=True, within=capacity, time_limit_s=time_limit_s / 2)).recomputed
        if again is not None and again.is_within and again.points:
            recomputed, extra = again.points[-1].peak, again.extra_cost / max(again.cost, 1)
    return BetterOrder(
        given_peak=answer.given_peak, peak=peak, lower_bound=answer.lower_bound, recomputed=recomputed, extra_cost=extra
    )


def graph_of(recording: Recording) -> OperationGraph:
    """Return the operations of the last recorded step as a graph whose tensors are the recorded storages."""
    rows = recording.operations[recording.last_step :]
    used = dict.fromkeys(t for row in rows for t in (*row.reads, *row.makes, *row.changes))
    made = {t for row in rows for t in row.makes}
    alive = [t for t, tensor in enumerate(recording.tensors) if tensor.end is None]
    at = {t: k for k, t in enumerate(dict.fromkeys((*used, *alive)))}
    drawn: int | None = None
    operations = []
    for k, row in enumerate(rows):
        operations.append(
            GraphOperation(
                inputs=tuple(at[t] for t in row.reads),
                outputs=tuple(dict.fromkeys(at[t] for t in (*row.makes, *row.changes))),
                after=(drawn,) if row.draws and drawn is not None else (),
                name=f"{row.module} {row.name}".strip(),
                cost=row.cost,
                once=row.draws or bool(row.changes),
            )
        )
        drawn = k if row.draws else drawn
    sizes = tuple(recording.tensors[t].size for t in at)
    inputs = tuple(k for t, k in at.items() if t not in made)
    return OperationGraph(size=sizes, kept=tuple(at[t] for t in alive), given=inputs, ops=tuple(operations))
