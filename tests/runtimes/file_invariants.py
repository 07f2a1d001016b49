"""Invariants between the answers to all questions about one file of any format.

Live bytes are computed without memplan's code: for the problem, for the graph of operations, and for files that are
written and read back. If a question refuses a file with a message, there is no answer to compare; refusals are counted.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from memplan.extensions.cascade.cascade import CascadeOptions, cascade
from memplan.extensions.files.compare.compare import CompareOptions, ModelComparison, compare
from memplan.extensions.files.convert.convert import convert
from memplan.extensions.files.convert.options import ConvertOptions
from memplan.planner import formats
from memplan.planner.errors import InputError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import detect, read_model
from memplan.planner.instance.audit import verify
from memplan.planner.systems import file_readers, system_of
from memplan.programs.inputs import read_graph
from memplan.programs.lifetimes import problem_of
from memplan.programs.models.imported_program import ImportedProgram
from memplan.programs.models.sequence import write_reordered
from memplan.programs.operations.graph import OperationGraph, graph_from, write_graph
from memplan.programs.operations.operations import Operations, operations_from
from memplan.programs.order.answer import OrderAnswer
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.order import order
from memplan.programs.order.reordering import reorder
from memplan.programs.order.search.regions import permute
from memplan.questions.check.check import CheckOptions, check
from memplan.questions.explain.explain import explain
from memplan.questions.explain.values import ExplainOptions
from memplan.questions.plan.plan import PlanOptions, plan
from memplan.questions.question import Control
from memplan.questions.reading import Reader
from tests.runtimes.asked_file import PROVED, SECONDS, AskedFile, graph_peak, live_peak


def violations(
    data: bytes,
    name: str,
    options: ModelOptions | None = None,
    *,
    live: int | None = None,
    tally: Counter[str] | None = None,
) -> list[str]:
    """Return a sentence for each broken invariant. `live` is the file's live peak in bytes, if the caller knows it."""
    counts = Counter[str]() if tally is None else tally
    try:
        file = AskedFile(data, name, options or ModelOptions(), counts)
        _ = file.imported_file.problem
    except InputError as error:
        counts["not read"] += 1
        return [] if live is None else [f"must be read: {error}"]
    counts["files"] += 1
    found = list(_reading_faults(file))
    if live is not None and file.live_bytes != live:
        found.append(f"plan: {file.live_bytes} bytes are alive at once by its problem, {live} by the model")
    found += _plan_faults(file)
    if file.graph is not None:
        found += [*_order_faults(file), *_best_order_faults(file), *_cascade_faults(file)]
    found += [*_explain_faults(file), *_check_faults(file), *_compare_faults(file), *_convert_faults(file)]
    return found


def _reading_faults(file: AskedFile) -> Iterator[str]:
    """Yield a sentence for each question that omits the reader's findings, and for each buffer role that is wrong."""
    own = {(each.rule, each.message) for each in file.imported_file.warnings}
    readers = {name: Reader(file.read_options()) for name in ("plan", "order", "explain")}
    heard: dict[str, Callable[[], Any]] = {
        "plan": lambda: readers["plan"].problem(file.data, file.name),
        "order": lambda: read_graph(readers["order"], file.data, file.name),
        "explain": lambda: [read(readers["explain"], file.data, file.name) for read in (Reader.problem, read_graph)],
    }
    kind = detect(file.data, file.name)
    if kind is not None and file_readers()[kind].program is not None:
        file.tally["operations of another reading"] += 1
        del heard["order"], heard["explain"]
    for what, read in heard.items():
        if file.answer_or_none(f"{what}'s reading", read) is not None:
            said = [(each.rule, each.message) for each in readers[what].warnings]
            if missing := own.difference(said):
                yield f"{what}: does not hear {sorted(dict(missing))}"
            if len(set(said)) < len(said):
                yield f"{what}: hears the same twice"
    if not isinstance(file.imported_file, ImportedProgram):
        return
    names = file.imported_file.names
    if not names.steps:
        return
    program = file.imported_file.operations
    entry = program.functions[program.entry]
    roles = dict(zip(file.imported_file.problem.buffers.ids, names.roles, strict=True))
    for what, wanted, ids in (("input", {"input"}, entry.params), ("output", {"output", "state"}, entry.results)):
        for each in set(ids) - (set(entry.params) if what == "output" else set()):
            role = roles.get(f"{program.entry}/{each}")
            if role is not None and role not in wanted:
                yield f"names: {each} is {role}, and an {what} of the program"


def _plan_faults(file: AskedFile) -> Iterator[str]:
    if not file.is_plain:
        file.tally["not in one pool"] += 1
        return
    found = file.plan
    if found.peak is None:
        yield f"plan: has none, {found.status}"
    elif found.peak < file.live_bytes:
        yield f"plan: peak {found.peak}, though {file.live_bytes} bytes are alive at once"
    elif found.status == PROVED:
        file.tally["proved"] += 1


def _order_faults(file: AskedFile) -> Iterator[str]:
    graph, found = file.graph, file.order_answer
    if graph is None or found is None or not file.is_plain:
        return
    if not file.is_consistent_peak(file.live_bytes, found.given_peak):
        yield f"order: {found.given_peak} bytes as given, {file.live_bytes} by the problem"
    ordered = found.ordered or graph
    if file.is_flat and (peak := graph_peak(ordered, found.order)) != found.peak:
        yield f"order: promises {found.peak} bytes, its order has {peak}"
    if found.placed_peak is not None and found.placed_peak < found.peak and found.status == PROVED:
        yield f"order: its plan takes {found.placed_peak} bytes, though {found.peak} are proved to be the least"
    options = OrderOptions(time_limit_s=SECONDS, deterministic=True, in_place=True)
    over = file.answer_or_none("order in place", lambda: order(graph, options))
    if over is not None and over.peak > found.lower_bound and over.status == PROVED and found.peak < over.peak:
        yield f"order: {over.peak} bytes in place, {found.peak} without"
    system = system_of(detect(file.data, file.name))
    if system is not None and system.reorders is not None:
        yield from _order_file_faults(file, ordered, found)


def _order_file_faults(file: AskedFile, ordered: OperationGraph, found: OrderAnswer) -> Iterator[str]:
    written = file.answer_or_none(
        "reordering", lambda: write_reordered(file.data, file.name, permute(ordered, found.order)).data
    )
    if written is None:
        return
    file.tally["written in order"] += 1
    again = read_model(written, file.name, file.options)
    live = live_peak(again.problem)
    if not file.is_consistent_peak(live, found.peak):
        yield f"order: promises {found.peak} bytes, the file that it writes has {live}"
    placed = plan(again.problem, options=PlanOptions(time_limit_s=SECONDS, deterministic=True))
    promised = found.placed_peak
    if promised is not None and placed.status == PROVED and (placed.peak or 0) > promised:
        yield f"order: promises a plan of {promised} bytes, the file that it writes needs {placed.peak}"


def _best_order_faults(file: AskedFile) -> Iterator[str]:
    """Yield a sentence for each contradiction between the peaks of `plan --order best` and of `order`."""
    found = file.order_answer
    if found is None or not file.is_plain:
        return
    control = Control().begin(PlanOptions(time_limit_s=SECONDS, deterministic=True))
    best = file.answer_or_none(
        "plan in the best order", lambda: reorder(file.data, file.name, control, file.options).answer
    )
    if best is None or best.placed_peak is None:
        return
    if file.is_flat and best.placed_peak < found.lower_bound:
        yield f"plan --order best: {best.placed_peak} bytes, though order proves {found.lower_bound}"
    placed, problem = best.placed, file.imported_file.problem
    if placed is not None and not file.is_consistent_peak(live_peak(placed.problem), best.peak):
        yield f"plan --order best: {live_peak(placed.problem)} bytes alive in its problem, {best.peak} by its order"
    if placed is not None and set(placed.problem.buffers.ids) != set(problem.buffers.ids):
        lost = sorted(map(str, set(problem.buffers.ids) ^ set(placed.problem.buffers.ids)))
        yield f"plan --order best: has not the buffers of plan: {', '.join(lost[:5])}"
    if file.is_flat and {best.placed_status, found.placed_status} == {PROVED} and best.placed_peak != found.placed_peak:
        yield f"plan --order best: {best.placed_peak} bytes, order {found.placed_peak}, both proved"


def _cascade_faults(file: AskedFile) -> Iterator[str]:
    graph = file.graph
    if graph is None or not file.is_plain:
        return
    # The graph's sizes are not rounded, so cascade must round them up to the problem's alignment.
    alignment = int(file.imported_file.problem.buffers.alignment.max(initial=1))
    options = CascadeOptions(time_limit_s=SECONDS / 4, alignment=alignment)
    found = file.answer_or_none("cascade", lambda: cascade(graph, options))
    if found is None or found.layers is None:
        return
    if not file.is_consistent_peak(file.live_bytes, live_peak(found.layers.problem)):
        yield f"cascade: {live_peak(found.layers.problem)} bytes layer by layer, {file.live_bytes} by the problem"
    if found.layers_peak < file.live_bytes:
        yield f"cascade: a plan of {found.layers_peak} bytes layer by layer, {file.live_bytes} are alive"


def _explain_faults(file: AskedFile) -> Iterator[str]:
    peak = file.plan.peak if file.is_plain else None
    if not peak:
        return
    options = ExplainOptions(time_limit_s=SECONDS, deterministic=True)
    within = explain(file.imported_file.problem.with_capacity(peak), options=options)
    # The question `explain` gives its plan less time than `plan` does, so its peak may be higher.
    if within.status == "unknown":
        file.tally["explain out of time"] += 1
    elif within.status != "fits":
        yield f"explain: {within.status} in {peak} bytes, which plan takes"
    if file.plan.status == PROVED and peak > 1:
        below = explain(file.imported_file.problem.with_capacity(peak - 1), options=options)
        if below.status == "fits":
            yield f"explain: fits in {peak - 1} bytes, plan proves {peak}"
    graph, found = file.graph, file.order_answer
    least = None if found is None else found.placed_peak
    if graph is None or least is None or least >= peak or file.plan.status != PROVED:
        return
    wanted = options.model_copy(update={"repairs": 1, "with_plans": True, "study_s": 0.5})
    answer = explain(file.imported_file.problem.with_capacity(least), graph, options=wanted)
    of_operations = answer.repairs.of_operations if answer.repairs is not None else None
    for repair in of_operations.repairs if of_operations is not None else ():
        if repair.peak_after > least:
            yield f"explain: a repair ({repair.kind}) of {repair.peak_after} bytes for {least}"
        if repair.kind == "none":
            yield f"explain: repairs {least} bytes with the operations as they are, plan proves {peak}"
        system = system_of(detect(file.data, file.name))
        if repair.kind != "reorder" or repair.regions or system is None or system.reorders is None:
            continue
        written = write_reordered(file.data, file.name, permute(graph, repair.order or ())).data
        live = live_peak(read_model(written, file.name, file.options).problem)
        file.tally["repairs written"] += 1
        if not file.is_consistent_peak(live, repair.live_peak):
            yield f"explain: a repair promises {repair.live_peak} bytes, the file with it has {live}"


def _check_faults(file: AskedFile) -> Iterator[str]:
    peak = file.plan.peak if file.is_plain else None
    if not peak or file.plan.status != PROVED:
        return
    for budget, passes in ((peak, True), (peak - 1, False)):
        options = CheckOptions(time_limit_s=SECONDS, deterministic=True, budgets=(str(budget),))
        found = check(file.imported_file.problem, options=options)
        if found.passed != passes or found.pools[0].used < peak:
            status = "passes" if found.passed else "fails"
            yield f"check: {status} {budget} bytes with {found.pools[0].used}, plan {peak}"


def _compare_faults(file: AskedFile) -> Iterator[str]:
    options = CompareOptions(name=file.name, time_limit_s=SECONDS, **file.options.model_dump(exclude_defaults=True))
    found = file.answer_or_none("compare", lambda: compare(file.data, options))
    if not isinstance(found, ModelComparison):
        return
    ours = found.memplan_with_views or found.memplan
    if file.is_plain and {ours.status, file.plan.status} == {PROVED} and ours.peak != file.plan.peak:
        yield f"compare: {ours.peak} bytes, plan {file.plan.peak}, both proved"
    best, least = found.memplan_reordered, file.order_answer
    if best is not None and least is not None and file.is_flat and (best.peak or 0) < least.lower_bound:
        yield f"compare: {best.peak} bytes reordered, though order proves {least.lower_bound}"
    if best is None and least is not None and file.is_plain and not file.imported_file.has_unknown_scratch:
        yield "compare: has no answer about the order, order has"
    said = set(found.warnings)
    if unheard := [each.rule for each in file.imported_file.warnings if each.message not in said]:
        yield f"compare: does not hear {', '.join(unheard)}"


def _convert_faults(file: AskedFile) -> Iterator[str]:
    fields = file.options.model_dump(exclude_defaults=True)

    def convert_file(**more: Any) -> Any:
        options = ConvertOptions(name=file.name, time_limit_s=SECONDS, **fields, **more)
        return file.answer_or_none(f"convert {more.get('to', '')}".strip(), lambda: convert(file.data, options=options))

    own = file.imported_file.problem
    found = convert_file(to="json")
    if found is not None:
        if found.problem != own:
            yield "convert: its problem is not that of plan"
        again = formats.read_problem(formats.memplan_json.write_problem(found.problem), "p.json", None)
        if again != own:
            yield "convert: the problem that it writes, read again, is another one"
        said = {each.message for each in found.warnings}
        if unheard := [each.rule for each in file.imported_file.warnings if each.message not in said]:
            yield f"convert: does not hear {', '.join(unheard)}"
    table = convert_file(to="csv")
    if table is not None:
        again = formats.read_problem(table.files[0].data, "p.csv", None)
        if live_peak(again) != file.live_bytes:
            yield f"convert: the table that it writes has {live_peak(again)} bytes alive, the problem {file.live_bytes}"
    if not isinstance(file.imported_file, ImportedProgram):
        return
    yield from _plan_file_faults(file)
    program = convert_file(to="operations")
    if program is not None:
        read: Operations = operations_from(program.operations.model_dump(mode="json", by_alias=True))
        if live_peak(problem_of(read)) != file.live_bytes:
            live = live_peak(problem_of(read))
            yield f"convert: its operations have {live} bytes alive, the problem {file.live_bytes}"
    drawn = convert_file(to="graph")
    if drawn is not None and graph_from(formats.memplan_json.parse(write_graph(drawn.graph))) != drawn.graph:
        yield "convert: the graph that it writes, read again, is another one"


def _plan_file_faults(file: AskedFile) -> Iterator[str]:
    """Yield a sentence if a plan written into the model differs from the plan read back from it."""
    target = {"tflite": "tflite", "executorch": "pte"}.get(detect(file.data, file.name) or "")
    if target is None or not file.is_plain or file.plan.peak is None:
        return
    fields = file.options.model_dump(exclude_defaults=True)
    options = ConvertOptions(name=file.name, time_limit_s=SECONDS, to=target, **fields)
    written = file.answer_or_none("convert with a plan", lambda: convert(file.data, file.plan, options=options))
    if written is None:
        return
    file.tally["plans written"] += 1
    again = read_model(written.files[0].data, file.name, file.options)
    if again.problem != file.imported_file.problem:
        yield "convert: the model with the plan in it poses another problem"
    if again.own_plan is None or again.own_peak != file.plan.peak:
        yield f"convert: the model has a plan of {again.own_peak} bytes in it, {file.plan.peak} were planned"
    elif verify(again.problem, again.own_plan):
        yield "convert: the plan in the model that was written is not valid"
