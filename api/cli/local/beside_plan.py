"""Extra output files of a plan: its picture, and its page, which can open in a browser."""

import os
from pathlib import Path
from typing import Any

from memplan.api.cli.asking import Call
from memplan.api.cli.streams import PAGE, suffix_of, write_output
from memplan.planner.model.plan import Plan


def plan_picture(call: Call, answer: Any) -> bytes:
    """Return the picture of a plan as the bytes of an SVG file."""
    from memplan.api.reports.picture import draw

    return draw(call.values["problem"], answer)


def plan_page(call: Call, answer: Plan) -> bytes:
    """Return the page of a plan as the bytes of an HTML file."""
    from memplan.api.reports.views import plan_page as write_page
    from memplan.planner.foreign.names_in_files import names_in
    from memplan.planner.foreign.program_names import names_of_models

    reader, problem = call.reader, call.values["problem"]
    title = problem.name or reader.file_name or ""
    if (application := reader.application) is not None:
        return write_page(problem, answer, title=", ".join(application.models), names=names_of_models(application))
    names = names_in(reader.data, reader.name, problem, reader.options)
    return write_page(problem, answer, title=title, names=names)


def open_page(call: Call, answer: Plan) -> None:
    """Open a plan's page in a browser; without an output file for the page, write it to a temporary file."""
    import tempfile
    import webbrowser

    path = next((path for path in call.outputs if suffix_of(path) == PAGE), None)
    if path is None:
        handle, path = tempfile.mkstemp(prefix="memplan-", suffix=PAGE)
        os.close(handle)
        write_output(path, plan_page(call, answer))
    is_open = webbrowser.open(Path(path).resolve().as_uri())
    if not is_open:
        call.said.append(f"{path}: no browser was found; open the file in one")
