"""The capability `deploy`: a model as it fits a runtime's arena, with the fewest multiplications more."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import PurePath
from typing import Literal
from zlib import decompress

from pydantic import Field

from memplan.capabilities.capability import Answer, Capability, Control, Seconds
from memplan.capabilities.cascade.cascade import MacsRatio
from memplan.capabilities.cascade.writing import RUNTIME
from memplan.capabilities.convert.device_forms import FormSearch
from memplan.capabilities.convert.export import ExportedFile, RuntimeArena, Section
from memplan.capabilities.foreign import ForeignOptions
from memplan.capabilities.inputs import FILE
from memplan.planner.errors import FormatError
from memplan.planner.model.rows import Bytes
from memplan.systems import reading as importers
from memplan.systems.tflite.c_model import write_c_model
from memplan.systems.tflite.system import is_tflite


class DeployOptions(ForeignOptions):
    """Options of a deployment."""

    time_limit_s: Seconds = Field(60.0, description="Seconds until the answer, which all searches share.")
    to: Literal["tflm"] = Field("tflm", description="The runtime: TFLite Micro.")
    fit: Bytes | None = Field(None, description="The bytes that the whole arena may have; the least by default.")
    macs: MacsRatio | None = Field(None, description="The most multiplications, of those as given: +10% or 1.1.")
    c_array: bool = Field(False, description="Write the model and its arena as C, too: a source and a header.")
    section: Section | None = Field(None, description="The section of C in which the arena lies, such as .dtcm.")


class Deployment(Answer):
    """The form of the model that was chosen, and its arena beside that of the model as given.

    `form` is what was changed: the order of its operators, or operators in parts; `planned` says that the file has an
    offline plan inside. `notes` say why a form was not possible. `files` are the model and, where asked for, C.
    """

    fits: bool | None
    form: Literal["given", "ordered", "cascade"]
    planned: bool
    macs_ratio: float
    arena: RuntimeArena
    given: RuntimeArena
    notes: tuple[str, ...]
    files: tuple[ExportedFile, ...]


def deploy(file: bytes, options: DeployOptions = DeployOptions(), control: Control = Control()) -> Deployment:
    """Bring a model into a runtime's arena: another order, operators in parts, and an offline plan inside the file.

    Of all forms that fit, the one with the fewest multiplications, and of these the smallest arena; without a size, the
    smallest arena. The model as given is one of them, so that the arena never grows.
    """
    if not is_tflite(file):
        got = importers.detect(file, options.name) or ("JSON" if file.lstrip()[:1] == b"{" else f"{file[:8]!r}")
        raise FormatError(f"must be a TensorFlow Lite model (.tflite) for {RUNTIME}, got {got}; convert it first")
    search = FormSearch(file, options, control.begun(options), options.fit, options.macs)
    found = search.run()
    fits = None if options.fit is None else found.arena.least <= options.fit
    stem = PurePath(options.name or "model").stem
    files = [ExportedFile(suffix=".tflite", base64=b64encode(found.data).decode())]
    if options.c_array:
        written = write_c_model(found.data, found.arena, stem, options.section)
        files += [ExportedFile(suffix=suffix, text=data.decode()) for suffix, data in written.items()]
    return Deployment(
        fits=fits,
        form=found.kind,
        planned=found.planned,
        macs_ratio=round(found.macs_ratio, 6),
        arena=RuntimeArena.of(found.arena),
        given=RuntimeArena.of(search.given.arena),
        notes=tuple(search.notes),
        files=tuple(files),
    )


def lines(found: Deployment) -> Iterator[str]:
    """Yield the lines for people: the form, its arena, and what was not possible."""
    forms = {"given": "as given", "ordered": "in another order", "cascade": "with operators in parts"}
    plan = ", with a plan in the file" if found.planned else ""
    yield f"the model {forms[found.form]}{plan}, {found.macs_ratio - 1:+.2%} MACs"
    yield f"{RUNTIME}'s arena  {found.arena.text}"
    yield f"as given             {found.given.text}"
    if found.form == "given" and not found.planned:
        yield "nothing is gained by another form"
    if found.fits is not None:
        yield "it fits" if found.fits else "no form that was found fits"
    for note in found.notes:
        yield f"not tried: {note}"


_EXAMPLE = (
    "eNoTY2BgCHHzMeZjUGFgYeBhEAHyZRj4gCQzAwRIQOk5TBB6AVRCEIgDgDgHiDuAeAkQHwDiO0D8A4hFGBkYDIDYB4gzgLgFiBcA8R4gvgHEX4"
    "BYGWgmyE4WsIk8QIgJ0OXFoOJiOOSFoeLCOOQVoOIKOOQ1oOIaOOTLoOJlOOTLoeLlOOTroeKNBOQvEpDvIyDfT0B+Ag55Jai4Eg55Nqg4Gw55"
    "WLphhsvLAOVFcIY/B5RmB+LUkoz8Yt1SYrWwAnFuZXx+ATApMQiAlcNSsQyKxnk4aFCSBlnji0cvJ1p6FIDSMDtBdAUlmisZkQRhGJQDucDBAD"
    "KUC+pWZCOQjULWzQT2CwODEBCzgCEorniANBtS0IFEi/NzUwGy1Sas"
)
"""A model of one operator, deflated."""
CAPABILITY = Capability(
    deploy,
    inputs=(FILE,),
    lines=lines,
    exit_status=lambda found: 1 if found.fits is False else 0,
    exits={0: "the model fits, or no size was given", 1: "no form fits"},
    status=lambda found: "feasible" if found.fits is not False else "infeasible",
    example={"file": b64encode(decompress(b64decode(_EXAMPLE))).decode(), "options": {"name": "model.tflite"}},
)
