"""The capability `replay`: the solve of a replay bundle once more, and whether it says the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pydantic import Field

from memplan.capabilities.capability import Capability, CapabilityOptions, Control, Seconds
from memplan.capabilities.extent import Extent, extent_of
from memplan.capabilities.inputs import object_in, problem_subject
from memplan.capabilities.plan.planning import with_reason
from memplan.capabilities.question import Input
from memplan.capabilities.reading import Reader, ReadOptions
from memplan.capabilities.verify.replay import bundle as study
from memplan.capabilities.verify.replay.bundle import ReplayBundle, ReplayResult, bundle_from, read_bundle
from memplan.capabilities.verify.replay.source_file import SourceFile
from memplan.planner.errors import FormatError
from memplan.planner.formats import memplan_json
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveControl, SolveOptions
from memplan.systems.imported import ModelOptions
from memplan.systems.reading import detect

_EXITS = {"bytes": 0, "peak": 4, "nothing": 5}
_WORDS = {"bytes": "the same bytes", "peak": "another plan of the same peak", "nothing": "another peak"}
_REPLAY_S = 600.0


class ReplayOptions(CapabilityOptions):
    """Options of a replay."""

    # What counted its work may take longer on another machine, and is another answer where it is cut short.
    time_limit_s: Seconds = Field(_REPLAY_S, description="Seconds until the answer, all in all.")
    with_plan: bool = Field(False, description="Answer with the new plan, too.")


class Replay(ReplayResult):
    """The outcome of a replay; `plan` is there where it was asked for.

    `disturbed_by` is why the old answer was not said to be reproducible, None where it was not deterministic.
    """

    disturbed_by: str | None = None
    plan: Plan | None = None


def replay(bundle: ReplayBundle, options: ReplayOptions = ReplayOptions(), control: Control = Control()) -> Replay:
    """Solve once more what a replay bundle holds, and compare the answers: the same bytes, the same peak, or another.

    What else differs is in the answer: versions of packages, the machine, the compiled kernels.
    """
    running = control.begun(options)
    counted_s = bundle.options.time_limit_s if bundle.options.deterministic else None

    def finish(problem: Problem, plan: Plan) -> Plan:
        said = bundle.answer.explanation
        is_reasoned = said is not None and said.kind is not None
        return with_reason(problem, plan, replace(running, counted_s=counted_s)) if is_reasoned else plan

    found, plan = study.replay(bundle, problem_in, SolveControl(running.deadline, running.cancelled), finish)
    return Replay(
        **dict(found),
        disturbed_by=None if bundle.reproducible else bundle.answer.disturbed_by,
        plan=plan if options.with_plan else None,
    )


def problem_in(file: SourceFile) -> Problem:
    """Return the problem in a bundle's file, read as it was read then; raises InputError."""
    model = {name: getattr(file.model, name) for name in ModelOptions.model_fields}
    options = ReadOptions.model_construct(**model, capacity=file.capacity, inclusive=file.inclusive)
    return Reader(options).problem(file.data, file.name or "")


def bundle_of(reader: Reader, problem: Problem, options: SolveOptions, answer: Plan) -> bytes:
    """Write the replay bundle of a plan whose problem was read from a file."""
    read = reader.options
    if read.adapts or read.alignment is not None:  # which is written as it was adapted
        file = SourceFile(memplan_json.write_problem(problem), "problem.json")
        return study.write_bundle(file, problem, options, answer)
    model = ModelOptions.model_construct(**{name: getattr(read, name) for name in ModelOptions.model_fields})
    file = SourceFile(reader.data, reader.file_name, read.capacity, read.inclusive, model)
    return study.write_bundle(file, problem, options, answer)


def lines(found: Replay) -> Iterator[str]:
    """Yield the lines for people: what is the same, and what differs."""
    why = found.disturbed_by or "the search was not deterministic"
    yield _WORDS[found.same] + ("" if found.reproducible else f"; it was not said to be reproducible ({why})")
    if found.same == "nothing":
        yield f"peak {found.peak_before} ({found.status_before}) then, {found.peak} ({found.status}) now"
    if not found.is_valid:
        yield "the answer in the bundle is not valid for its problem"
    for name, (then, now) in found.environment.items():
        yield f"{name}: {then or 'none'} then, {now or 'none'} now"


def _bundle_field(value: object) -> ReplayBundle:
    """Return the bundle in a field of a body; raises FormatError, for a model, too: strangers send bodies."""
    bundle = bundle_from(object_in(value, "bundle", FormatError))
    file = bundle.problem.file
    if (found := detect(file.data, file.name)) is not None:
        raise FormatError(f"problem.content: must be a problem, not a model ({found}), which `memplan replay` reads")
    problem_in(file)
    return bundle


def _bundle_extent(value: object) -> Extent:
    """Return the extent of the problem whose file is a text in a bundle."""
    problem = value.get("problem") if isinstance(value, dict) else None
    content = problem.get("content") if isinstance(problem, dict) else None
    try:
        return extent_of(memplan_json.parse(content.encode())) if isinstance(content, str) else Extent()
    except (FormatError, UnicodeEncodeError):  # it is CSV, or nothing that can be read
        return Extent()


_FILE = '{"buffers": [{"id": "conv1", "size": 64, "start": 0, "end": 3}]}'
_BUNDLE = {
    "format": "memplan-replay/1",
    "problem": {
        "name": "problem.json",
        "content": _FILE,
        "sha256": "422fd4c4fff3852b7cda2d884e29feb7019069c1f60d4240bad1c8030f019bb8",
    },
    "problem_hash": "sha256:5fdbeb480810b042e9a9695af176f32a207e3164cb554ba64eef2a13eddf66f0",
    "options": {"time_limit_s": 5, "deterministic": True},
    "answer": {"status": "feasible", "peak": 64, "placements": [{"id": "conv1", "pool": "default", "offset": 0}]},
    "answer_sha256": "5eef18bf6cbbeb225837e9e2b04b2db6747a4beed258912753dccb9a657f387a",
    "reproducible": False,
}
CAPABILITY = Capability(
    replay,
    inputs=(
        Input(
            "bundle",
            ReplayBundle,
            _bundle_field,
            lambda bundle: bundle.model_dump(mode="json"),
            "What `memplan plan --bundle` wrote, or - for standard input.",
            from_file=lambda _reader, data, _name, _question: read_bundle(data),
            subject=lambda bundle: problem_subject(problem_in(bundle.problem.file)),
            extent=_bundle_extent,
        ),
    ),
    lines=lines,
    exit_status=lambda found: _EXITS[found.same],
    exits={0: "the same bytes", 4: "another plan of the same peak", 5: "another peak"},
    example={"bundle": _BUNDLE},
)
