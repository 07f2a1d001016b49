"""The command `memplan fits`: tells whether a torch step (a script or a snapshot) or a ggml graph fits into memory.

It is a command only, not a question that the service answers, because it runs the caller's code.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import click
from pydantic_core import to_json

from memplan.api.cli.flags import LIST_FORMAT, Argument, Flag
from memplan.api.cli.guarded import guarded_reading
from memplan.api.cli.help import SectionedCommand
from memplan.api.cli.streams import (
    PAGE,
    PICTURE,
    STANDARD,
    read_as,
    read_bytes,
    refuse_unwritable,
    suffix_of,
    wants_table,
    write_output,
)
from memplan.extensions.torch import graph_fits
from memplan.extensions.torch.graph_fits import GraphFits
from memplan.extensions.torch.inside.advice import Advice
from memplan.extensions.torch.inside.answer import FitsAnswer, SnapshotAnswer, Ways, fits_of_snapshot
from memplan.extensions.torch.inside.device import FitsOptions
from memplan.files import prefix_file_name
from memplan.planner.errors import OptionError, excerpt
from memplan.planner.errors.extras import require_packages
from memplan.planner.model.sizes import size_text
from memplan.questions.reading import validate_options
from memplan.runtimes.torch.snapshot import recorded_steps


def terminal_lines(answer: FitsAnswer | SnapshotAnswer | GraphFits) -> Iterator[str]:
    """Yield the lines that the terminal shows for an answer."""
    if isinstance(answer, GraphFits):
        yield from graph_fits.terminal_lines(answer)
        return
    if isinstance(answer, SnapshotAnswer):
        for device in answer.devices:
            yield from terminal_lines(device)
        return
    text = {True: "fits", False: "does not fit", None: "open"}[answer.fits]
    yield f"{text}: {answer.proof}"
    rows = [("live peak", answer.live_peak), ("planned peak", answer.peak), ("lower bound", answer.lower_bound)]
    for name, size in (
        *rows,
        ("reserved", answer.reserved),
        ("with scratch", answer.reserved_most),
        ("capacity", answer.capacity),
    ):
        if size is not None:
            is_more = name == "reserved" and answer.fits and size > (answer.capacity or size)
            note = "  without a limit; within the capacity, cached segments are given back" if is_more else ""
            yield f"{name:<14}{size:>20,} bytes  {size_text(size):>10}{note}"
    yield f"at the peak: {answer.running}"
    for role, size in answer.roles.items():
        yield f"  {role:<14}{size:>18,} bytes  {size_text(size):>10}"
    for group in answer.alive:
        where = " ".join(filter(None, (group.module, group.operation, group.line)))
        yield f"  {group.bytes:>18,} bytes in {group.count:>4}  {group.role}: {where}"
    for unknown in answer.unknown:
        text = "not known and not counted" if unknown.bytes is None else f"{size_text(unknown.bytes)}, as given"
        yield f"{unknown.name}: {text} (--{unknown.option.replace('_', '-')})"
    if (free := answer.left) is not None:
        yield f"left: {free.total:,} bytes, {free.contiguous:,} in one piece; behind a plan {free.planned or 0:,}"
    if (recorded := answer.recorded) is not None:
        text = "segments are equal" if recorded.is_equal else f"{recorded.misplaced} blocks lie elsewhere"
        reserved = f"{recorded.reserved:,} bytes were reserved, {recorded.simulated:,} simulated"
        yield f"device {recorded.device}: {reserved}; {text}"
        yield from recorded.notes if answer.advice is None else ()
    if (turns := answer.turns) is not None:
        yield f"{turns.graphs} graphs: {turns.reserved:,} bytes reserved, {turns.peak or 0:,} in turns in one arena"
        yield f"  {turns.peak_in_turns or 0:,} bytes if the outputs of a graph are read before another graph runs"
    if (beside := answer.compared) is not None:
        yield f"recorded: {beside.live_peak:,} bytes alive, {beside.reserved:,} reserved"
        for name, sizes in (("recorded", beside.only_recorded), ("traced", beside.only_traced)):
            yield from (f"  {size:>18,} bytes in {count:>4}  only {name}" for size, count in sizes.items())
    if answer.ways is not None:
        yield from _lines_of_remedies(answer.ways)
    if answer.advice is not None:
        yield from _lines_of_advice(answer.advice)


def _lines_of_advice(advice: Advice) -> Iterator[str]:
    """Yield the terminal lines of advice: the bytes that the allocator reserves, and changes that reduce them."""
    yield f"reserved now: {advice.reserved:,} bytes, for blocks of {advice.blocks:,} at most"
    for row in advice.stranded:
        yield f"  {row.bytes:>18,} bytes free in {row.segments} segments, kept by {row.held:,} of {row.line}"
    for each in advice.rows:
        how = "the least" if each.is_least else "the least that was tried"
        tried = f" ({how} of {each.tried})" if each.tried > 1 else ""
        yield f"{each.change}: {each.reserved:,} bytes, {advice.reserved - each.reserved:+,} less{tried}"
        yield "  " + "; ".join(filter(None, (each.line, each.note)))
    yield from advice.unsure


def _lines_of_remedies(found: Ways) -> Iterator[str]:
    """Yield the terminal lines of the remedies: changes with which a step would fit."""
    for each in found.sizes:
        text = "none fits" if each.size is None else f"{each.size} fits, {each.size + 1} does not"
        yield f"largest {each.name}: {text} ({each.tried} tried)"
    if (chosen := found.checkpoint) is not None:
        text = "does not suffice" if chosen.modules is None else ", ".join(chosen.modules) or "not needed"
        cost = f" ({100 * chosen.extra_cost:.1f} % more work)" if chosen.modules else ""
        yield f"torch.utils.checkpoint: {text}{cost}"
    best = found.order
    yield f"best order: {best.peak:,} bytes in one arena, no order is below {best.lower_bound:,}"
    if best.recomputed is not None:
        yield f"with operations that run again: {best.recomputed:,} bytes, {100 * best.extra_cost:.1f} % more work"


_GRAPH = ".graph.json"
_OUTPUT = f".svg, .html: its plan; {_GRAPH}: its operations, for `order` and `plan --moves`; else the answer."


@click.command(
    cls=SectionedCommand,
    params=[
        Argument("step", help="SCRIPT.py:FUNCTION, which returns arguments; a snapshot; or a graph."),
        Flag("capacity", metavar="SIZE", help="The device's memory, such as 24GiB."),
        Flag(
            "allocator",
            default="cuda",
            help="The allocator that is simulated: cuda, plan, cpu, or settings such as max_split_size_mb:128.",
        ),
        Flag("suggest", is_flag=True, help="Also list changes that make the step fit. Each of them was tried."),
        Flag(
            "advise",
            is_flag=True,
            help="Report the reserved bytes, their reason, and a line of code that reduces them.",
        ),
        Flag("together", multiple=True, metavar="A,B", help="CUDA graphs of a snapshot that may run at once."),
        Flag("computed", is_flag=True, help="Run the step on real values, not on fakes."),
        Flag("compiled", is_flag=True, help="Count the graphs of AOT autograd instead."),
        Flag("snapshot", metavar="FILE", help="Compare with this snapshot of the step."),
        Flag("kernel_workspace", metavar="SIZE", help="The bytes to count for the workspaces of kernels."),
        Flag("cublas_workspace", metavar="SIZE", help="The bytes of cuBLAS's workspace, such as 8320KiB."),
        Flag("context", metavar="SIZE", help="The bytes to count for the context of the device."),
        Flag("nccl", metavar="SIZE", help="The bytes to count for the buffers of NCCL."),
        Flag("dim", multiple=True, metavar="NAME=SIZE", help="The size at which a graph of ggml runs."),
        Flag("output", "--output", "-o", multiple=True, metavar="FILE", help=_OUTPUT),
        LIST_FORMAT,
    ],
)
def fits(
    step: str,
    capacity: str | None,
    allocator: str,
    suggest: bool,
    advise: bool,
    together: Sequence[str],
    computed: bool,
    compiled: bool,
    snapshot: str | None,
    kernel_workspace: str | None,
    cublas_workspace: str | None,
    context: str | None,
    nccl: str | None,
    dim: Sequence[str],
    output: Sequence[str],
    display: str | None,
) -> int:
    """Say whether a step of a torch model fits into memory: inference, or training with its optimizer.

    The script's FUNCTION is called with fake tensors and returns a dictionary of the arguments of
    `memplan.torch.fits`: model, inputs, and loss, targets, optimizer for training. No weights are loaded and nothing is
    computed. A snapshot, as torch.cuda.memory writes it, is a step that ran: the answer has its devices, streams and
    CUDA graphs, and the memory that stayed free all the time. For a graph of ggml, as graph_json.h writes it, the
    weights and a plan of the rest are counted, and it takes only --capacity and --dim. Exit status: 0 fits, or no
    capacity is given, 1 does not fit, 2 wrong input.
    """
    sizes = {
        "capacity": capacity,
        "kernel_workspace": kernel_workspace,
        "cublas_workspace": cublas_workspace,
        "context": context,
        "nccl": nccl,
    }
    for path in output:
        if path != STANDARD and suffix_of(path) not in ("", ".json", PICTURE, PAGE):
            raise OptionError(f"output: must end in .html, .json, .graph.json or .svg, got {excerpt(path)}")
        refuse_unwritable(path)
    options: dict[str, Any] = {name: size for name, size in sizes.items() if size is not None}
    options["allocator"] = allocator
    options |= {"advise": True} if advise else {}
    options |= {"together": [text.split(",") for text in together]} if together else {}
    of_script = {"suggest": suggest, "computed": computed, "compiled": compiled, "snapshot": snapshot}
    answer = _answer_for_step(step, options, of_script, dim)
    text = (
        "".join(f"{line}\n" for line in terminal_lines(answer)).encode()
        if wants_table(display)
        else to_json(answer) + b"\n"
    )
    drawn = [path for path in output if suffix_of(path) in (PICTURE, PAGE) or path.endswith(_GRAPH)]
    for path in drawn:
        write_output(path, _graph_of(path, answer) if path.endswith(_GRAPH) else _draw_plan(path, step, answer))
    for path in [each for each in output if each not in drawn] or [STANDARD]:
        write_output(path, text)
    return 1 if answer.fits is False else 0


def _answer_for_step(step: str, options: dict[str, Any], of_script: dict[str, Any], dims: Sequence[str]) -> Any:
    """Return the answer for a script, a snapshot or a graph (`step`). Raises InputError for options of another kind."""
    if ".py:" in step or step.endswith(".py"):
        if dims:
            raise OptionError("dim: applies only to ggml graphs, got a torch step")
        require_packages("fits:", ["torch"])
        if (path := of_script["snapshot"]) is not None:  # Before torch is imported, which takes more than a small file.
            with guarded_reading([path]), prefix_file_name("snapshot"):
                of_script = of_script | {"snapshot": recorded_steps(read_bytes(path))}
        from memplan.extensions.torch.inside.fits import fits_of_script

        return fits_of_script(step, **options, **of_script)
    if any(of_script.values()):
        raise OptionError("STEP: must be SCRIPT.py:FUNCTION for --suggest, --computed, --compiled and --snapshot")
    with guarded_reading([step]):
        return read_as(step, lambda data: _answer_for_file(data, options, dims))


def _answer_for_file(data: bytes, options: dict[str, Any], dims: Sequence[str]) -> SnapshotAnswer | GraphFits:
    """Return the answer for a snapshot or a ggml graph; raises OptionError for options that do not apply to graphs."""
    if not dims and not graph_fits.is_graph(data):
        return fits_of_snapshot(data, **options)
    if unused := [name for name in options if name != "capacity" and (name, options[name]) != ("allocator", "cuda")]:
        raise OptionError(f"{unused[0]}: applies only to torch steps, got a ggml graph")
    return graph_fits.fits_of_graph(data, validate_options(FitsOptions, options).capacity, [*dims])


def _graph_of(path: str, answer: FitsAnswer | SnapshotAnswer | GraphFits) -> bytes:
    from memplan.programs.operations.graph import write_graph

    if not isinstance(answer, FitsAnswer) or answer.graph is None:
        raise OptionError(f"-o {path}: must be another file, because only a step of a script has operations")
    return write_graph(answer.graph)


def _draw_plan(path: str, step: str, answer: FitsAnswer | SnapshotAnswer | GraphFits) -> bytes:
    """Return a step's plan as an SVG picture or an HTML page, depending on the suffix of `path`."""
    if isinstance(answer, GraphFits):
        raise OptionError(f"-o {path}: must be a JSON file for a ggml graph; `memplan plan` draws its plan")
    row, *others = answer.devices if isinstance(answer, SnapshotAnswer) else (answer,)
    if others:
        raise OptionError(
            f"-o {path}: must be a JSON file for a snapshot of several devices, got {1 + len(others)} devices"
        )
    problem, plan = row.problem, row.plan
    # Only answers read from JSON lack a problem and a plan; this answer was computed here, so it has both.
    assert problem is not None
    assert plan is not None
    if suffix_of(path) == PICTURE:
        from memplan.api.reports.picture import draw

        return draw(problem, plan)
    from memplan.api.reports.views import plan_page

    return plan_page(problem, plan, title=step)
