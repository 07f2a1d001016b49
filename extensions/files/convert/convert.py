"""The question `convert`: write a problem, a model or a plan in another format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import cast

from memplan.extensions.files.convert.answer import Converted, WrittenFile, alignment_notes, lines, write
from memplan.extensions.files.convert.options import MODELS, OBJECTS, PROGRAMS, TFLITE, ConvertOptions
from memplan.extensions.files.convert.source import add_program, deploy, facts_of_source, program_of
from memplan.planner.errors import Option, OptionError, excerpt
from memplan.planner.foreign.arena import rules_of
from memplan.planner.foreign.layout import lay_out
from memplan.planner.foreign.model_options import size_text
from memplan.planner.foreign.writing import EXPORTERS, export
from memplan.planner.formats import FORMATS, memplan_json
from memplan.planner.model.finding import Finding
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions.check.arena import RuntimeArena
from memplan.questions.inputs import FILE, PLAN, Base64, problem_json
from memplan.questions.inputs.values import InputValues
from memplan.questions.plan.plan import plan as make_plan
from memplan.questions.question import Control, Question, ignore_report
from memplan.questions.reading import TARGET_NOTE, Reader

_OF_DEPLOYMENT = ("fit", "macs", "c_array")
_AND_C = ", or write -o NAME.tflite, which writes NAME.c too"
_OF_SECTIONS = ("c", TFLITE)
"""The output formats whose arrays can be put into a linker section: C, and a model that is also written as C."""


def convert(
    file: bytes | Problem,
    plan: Plan | None = None,
    options: ConvertOptions = ConvertOptions(),
    control: Control = Control(),
) -> Converted:
    """Write a problem, a model or a plan in another form: a table, operations, C, or into the model of a runtime.

    From a file of another system, the problem in it is written, or the plan. C, linker scripts and files of runtimes
    are written from a plan, which is verified first; if no plan is given, one is made. A model for TFLite Micro
    without a plan is brought into the form with the smallest whole arena, or, with a size to fit, into the fitting
    form with the fewest multiplications. These forms differ in the order of the operators, in operators that run in
    parts, and in an offline plan inside the file. The model as it is counts as one of them, so the arena never grows.
    """
    running, target = control.begin(options), options.to or ("json" if plan is None else "c")
    reader = Reader(options)
    reader.take_record(plan)
    options = cast("ConvertOptions", reader.options)
    if target == TFLITE and options.dims:
        said = ", ".join(f"{name}={size_text(size)}" for name, size in options.dims.items())
        rule = f"must be left out if a .tflite is written, because it keeps its own sizes, got {said}"
        way = f"export the model with {said}, or convert it with the sizes in the file"
        raise OptionError.from_rule("dims", rule, way=way if plan is None else f"{way}, without this plan")
    is_model = target == TFLITE and plan is None
    # The search for a model's best form assumes that the runtime plans the memory: one pool without further rules.
    planned_by = ("capacity",) * bool(options.capacity) + options.adaptations
    is_deployed = is_model and not planned_by
    for name in () if is_deployed else _OF_DEPLOYMENT:
        if value := getattr(options, name):
            if is_model:
                other = Option(planned_by[0], "")
                raise OptionError.from_rule(
                    name, "must not be given together with ", other, f", got {value}", way="leave one of them out"
                )
            beside = "a plan" if target == TFLITE else f"the form {target}"
            rule = f"applies only if a .tflite is written without a plan, got {excerpt(value)} with {beside}"
            raise OptionError.from_rule(name, rule, way=f"leave this option out{_AND_C * (name == 'c_array')}")
    if target in PROGRAMS:
        options.refuse_for_programs(target)
    has_names = options.c_array if is_deployed else target in EXPORTERS
    for name, is_used in (("prefix", has_names), ("section", has_names and target in _OF_SECTIONS)):
        if getattr(options, name) is not None and not is_used:
            raise OptionError.from_rule(name, f"applies only if C is written, got {target}", way="leave it out")
    if is_deployed:
        return deploy(file if isinstance(file, bytes) else memplan_json.write_problem(file), options, running)
    problem = file if isinstance(file, Problem) else reader.problem(file, options.name)
    if options.target is not None and options.kernels in (None, "reference") and target != "c":
        reader.warnings.append(Finding("no-effect", TARGET_NOTE, ()))
    facts = facts_of_source(file, problem, reader, target)
    if target in EXPORTERS or (plan is not None and target in FORMATS):
        return _export(problem, plan, reader, facts, options, running)
    if plan is not None:
        raise OptionError(f"to: must be a format for plans ({', '.join((*FORMATS, *EXPORTERS))}), got {target}")
    if target in PROGRAMS:
        return add_program(reader.imported, facts, target)
    if target != "json":
        return facts.model_copy(update={"files": (WrittenFile.from_data("", _problem_text(problem, target, running)),)})
    its = program_of(file, reader.imported) if options.program else {}
    return facts.model_copy(update={"problem": problem, **its})


def _problem_text(problem: Problem, target: str, running: Control) -> bytes:
    """Return a problem as the content of a file in another format. Raises InputError if it cannot be expressed."""
    if target in MODELS:
        # The writer's libraries take longer to import than most commands run, so import the writer only when needed.
        from memplan.solvers.mip.model_file import write_model

        return write_model(problem, f".{target}", lambda: running.is_over)
    if target == OBJECTS:
        from memplan.planner.model.objects import objects_from_problem

        return objects_from_problem(problem).model_dump_json(exclude_none=True).encode() + b"\n"
    return FORMATS[target].write_problem(problem)


def _export(
    problem: Problem, plan: Plan | None, reader: Reader, found: Converted, options: ConvertOptions, running: Control
) -> Converted:
    """Write the files for a plan, which is made first if none is given, and return the answer with these files."""
    target, made = found.to, None
    if plan is None:
        plan = made = make_plan(problem, control=replace(running, report=ignore_report))
        if made.peak is None:
            return found.model_copy(update={"plan": made})
    model = None if reader.imported is None else reader.data
    found = found.model_copy(update={"warnings": (*found.warnings, *alignment_notes(problem, plan, target))})
    layout = replace(lay_out(problem, plan, model, options), section=options.section)
    stem = options.prefix or PurePath(options.name or "memplan").stem
    files = {"": FORMATS[target].write_plan(plan, problem)} if target in FORMATS else export(target, layout, stem)
    rules = None if target != TFLITE or model is None else rules_of(model)
    arenas = {} if rules is None or model is None else {"arena": files[""], "given": model}
    of_files = {
        "files": tuple(WrittenFile.from_data(suffix, data) for suffix, data in files.items()),
        **{name: RuntimeArena.from_fields(rules.arena_of(data, options)) for name, data in arenas.items() if rules},
    }
    return found.model_copy(update={**of_files, "plan": made, "own_peak": None, "violations": ()})


def _read_file(reader: Reader, data: bytes, name: str, _question: InputValues) -> bytes:
    reader.data, reader.name = data, name
    return data


def _read_plan(reader: Reader, data: bytes, name: str, values: InputValues) -> Plan:
    reader.take_record(data)
    own = Reader(reader.options)
    names_all = memplan_json.recognises(data) and b'"placements"' in data
    return own.plan(data, name, Problem(buffers=()) if names_all else own.problem(values["file"], reader.name))


QUESTION = Question(
    convert,
    inputs=(
        replace(
            FILE,
            wire=Base64 | Problem,
            to_json=lambda file: FILE.to_json(file) if isinstance(file, bytes) else problem_json(file),
            from_file=_read_file,
            help="A problem, operations, a model or a dump of another system, or - for standard input.",
            metavar="FILE",
        ),
        replace(PLAN, from_file=_read_plan, required=False, about="The plan that the written file has."),
    ),
    lines=lines,
    exit_status=lambda answer: 0 if answer.fits else 1,
    exits={
        0: "it is written",
        1: "nothing fits: no plan, or no form of the model; or the runtime refuses the size of the arena",
    },
    status=lambda answer: None if answer.deployment is None else "feasible" if answer.fits else "infeasible",
    write=write,
    takes_moves=True,
    example={"file": "aWQsbG93ZXIsdXBwZXIsc2l6ZQphLDAsMyw2NApiLDEsNCwzMgo=", "options": {"name": "small.csv"}},
)
