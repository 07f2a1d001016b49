"""The command `memplan cascade`: prints points, and can write C, a script, a page, and a split model."""

from pathlib import Path
from typing import Any

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import Call, answer_of_call, end_call, read_call, write_answer, write_beside
from memplan.api.cli.flags import Flag, integer
from memplan.api.cli.question_command import command_of
from memplan.api.cli.streams import FOLDER, PAGE, print_message, write_output
from memplan.extensions.cascade.cascade import QUESTION
from memplan.planner.systems import systems
from memplan.programs.commands.order import load_writing, model_if_gained, refuse_no_model
from memplan.questions.question import Control

_ALIGNMENT = "Round the sizes of buffers up to multiples of this power of two, 1 by default."
_MODELS = tuple(suffix for each in systems() if each.rewrites for row in each.readers for suffix in row.suffixes)
_ORDER_S = 1.0
"""The minimum time, in seconds, for the search of an operation order before a model is written."""
_SCHEDULE = ".schedule"


@command_of(
    QUESTION,
    Flag("alignment", type=integer, metavar="SIZE", help=_ALIGNMENT),
    beside=(PAGE, _SCHEDULE, FOLDER, *_MODELS),
    needs_plans=(PAGE, _SCHEDULE, FOLDER, *_MODELS),
)
def cascade(line: CommandLine) -> int:
    """Print the answer and write the output files; if a model is to be written, search that model's own access maps."""
    load_writing(line.given)
    if (machine := line.given["target"] or "").endswith(".json"):
        print_message(f"memplan: warning: --target names a chip, so write --machine {machine}")
        line = line._replace(given={**line.given, "target": None, "machine": machine})
    call = read_call(line)
    graph, model = call.values["graph"], None
    refuse_no_model(call)
    if call.has_output(*_MODELS):
        from memplan.extensions.cascade.writing import model_in_parts

        model = call.run_in_time(lambda: model_in_parts(call.reader, graph, call.options))
        call.values = {"graph": model.access}
    answer = answer_of_call(call)
    write_answer(call, answer)
    written = {
        PAGE: lambda _path: _page_of_answer(call, answer),
        _SCHEDULE: lambda path: _schedule_of_answer(call, answer, path),
        FOLDER: lambda path: _write_c(call, graph, answer, path),
        **dict.fromkeys(_MODELS, lambda path: _write_model(call, graph, model, answer, path)),
    }
    write_beside(call, written)
    return end_call(call, answer)


def _page_of_answer(call: Call, answer: Any) -> bytes:
    from memplan.api.reports.views import answer_pages

    return answer_pages["cascade"](call.title(answer.name), answer)


def _schedule_of_answer(call: Call, answer: Any, path: str) -> bytes | None:
    """Return the schedule script of the last point; without points, report this and return None."""
    from memplan.extensions.cascade.schedule_report import schedule_script

    if not answer.points:
        call.said.append(f"{path}: not written, as no point was found")
        return None
    return schedule_script(answer.points[-1])


def _write_model(call: Call, graph: Any, model: Any, answer: Any, path: str) -> bytes | None:
    """Return the model file with the smallest arena, split or only reordered; None if no form improves the model."""
    if not answer.points:
        return None
    from memplan.extensions.cascade.writing import reordered_model, write_in_parts

    running = Control.from_limit(max(_ORDER_S, answer.wall_time_s / 2))
    ordered = reordered_model(call.reader.data, call.reader.name, graph, running)
    written = write_in_parts(model, answer, call.reader.data, call.reader.options, ordered)
    return model_if_gained(call, written, path)


def _write_c(call: Call, graph: Any, answer: Any, path: str) -> None:
    """Write the last point as C files into a folder, and print the file names."""
    if not answer.points:
        call.said.append(f"{path}: not written, as no point was found")
        return
    from memplan.extensions.cascade.writing import c_files

    files = c_files(answer, graph, Path(path).resolve().name)
    for name, content in files.items():
        write_output(str(Path(path) / name), content)
    call.said.append(f"{path} has {', '.join(files)}: an arena of {answer.points[-1].peak} bytes")
