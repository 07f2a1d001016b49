"""Flags and files that only `memplan order` has: the certificate, the page and the model in its new order, in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memplan.api.cli.flags import flag
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.streams import write
from memplan.planner.errors import OptionError, shown

if TYPE_CHECKING:
    from memplan.capabilities.cascade.writing import Written

PAGE = flag("page", str | None, None, "--page", metavar="FILE", help="Write a page to look into it: one HTML file.")
_ALIGNMENT = "Place tensors at multiples of so many bytes; a model's are rounded up to them, too."
_WRITE = "Write the model, ONNX or TFLite, in the new order."
_CERTIFICATE = "Write what proves the bound, if it can be checked."


def load_writing(given: Mapping[str, Any]) -> None:
    """Import what writes models, where one is to be written."""
    if given["write"] is not None:
        import memplan.capabilities.cascade.writing  # noqa: F401


def _prepare(given: Given) -> None:
    given.refuse_remote("page", "write")
    refuse_no_model(given)
    for name in ("certificate", "write"):
        if given.flags["recompute"] and given.flags[name] is not None:
            raise OptionError(f"{name}: must not be given with recompute, got {shown(given.flags[name])}")
    if given.flags["certificate"] is not None:
        given.change(with_certificate=True)


def refuse_no_model(given: Given) -> None:
    """Raise OptionError, before work is spent, where --write has no model to write, or would overwrite it."""
    written = given.flags["write"]
    if written is not None and written == given.files["graph"]:
        raise OptionError(f"--write: must be another file than the model, got {shown(written)}")
    if written is not None and given.reader.imported is None:
        raise OptionError("--write: must be given for a model, got a graph or a program")
    if written is not None:
        # Imported here, and below: few models are written.
        from memplan.capabilities.cascade.writing import refuse_other_format

        refuse_other_format(given.reader, written)


def title_of(given: Given, name: str | None) -> str:
    """Return the title of a page: the graph's own name, or that of its file."""
    return name or Path(given.files["graph"] or "").name


def _finish(given: Given, answer: Any) -> Sequence[str]:
    said: list[str] = []
    if given.flags["certificate"] is not None and answer.certificate is not None:
        if answer.certificate.text is None:
            said.append(f"no certificate: {answer.certificate.reason}")
        else:
            write(given.flags["certificate"], answer.certificate.text.encode())
    if answer.recomputed is not None:
        return _write_points(given, answer)
    wanted = [given.flags[name] for name in ("page", "write") if given.flags[name] is not None]
    if wanted and answer.placed is None:
        given.exit_status = 1
        return [*said, f"{', '.join(wanted)}: not written, as the time was over before the order had a plan"]
    if given.flags["page"] is not None:
        # Imported here: few orders are looked at.
        from memplan.api.reports.page.studies import order_page

        write(given.flags["page"], order_page(title_of(given, answer.name), answer))
    if given.flags["write"] is not None:
        said += _write_model(given, answer)
    return said


def _write_points(given: Given, answer: Any) -> Sequence[str]:
    if given.flags["page"] is not None:
        # Imported here: few points are looked at.
        from memplan.api.reports.page.studies import recompute_page

        write(given.flags["page"], recompute_page(title_of(given, answer.name), answer))
    return ()


def _write_model(given: Given, answer: Any) -> list[str]:
    # Imported here: few models are written.
    from memplan.capabilities.cascade.writing import written_model

    return write_if_gained(given, written_model(given.reader, answer))


def write_if_gained(given: Given, found: Written) -> list[str]:
    """Write a model in another form, if it is there, and return the sentences about it; without, the status is 1."""
    if found.data is None:
        given.exit_status = 1
    else:
        write(given.flags["write"], found.data)
    said = [f"{given.flags['write']}: {sentence}" for sentence in found.sentences]
    if found.data is not None and found.arena is not None:
        # Imported here: few models are written.
        from memplan.systems.tflite.interpreter import measured

        said[-1] += f"; {measured(found.data, found.arena.least)}"
    return said


LOCAL = Local(
    flags=(
        flag("alignment", int | None, None, "--alignment", metavar="BYTES", help=_ALIGNMENT),
        flag("certificate", str | None, None, "--certificate", metavar="FILE", help=_CERTIFICATE),
        flag("write", str | None, None, "--write", metavar="FILE", help=_WRITE),
        PAGE,
    ),
    loads=load_writing,
    files=("page", "certificate", "write"),
    prepare=_prepare,
    finish=_finish,
)
