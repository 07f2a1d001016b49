"""The command `memplan order`, which can also write a page, a certificate and the reordered model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import Call, answer_of_call, end_call, read_call, write_answer, write_beside
from memplan.api.cli.flags import Flag, integer
from memplan.api.cli.question_command import command_of
from memplan.api.cli.streams import CERTIFICATE, PAGE, suffix_of
from memplan.planner.errors import OptionError, excerpt
from memplan.planner.systems import systems
from memplan.programs.order.order import QUESTION

if TYPE_CHECKING:
    from memplan.programs.commands.writing import ModelForm

MODELS = tuple(suffix for each in systems() if each.reorders for row in each.readers for suffix in row.suffixes)
"""The suffixes of those model files that can be written with another operation order."""
_ALIGNMENT = "Place tensors at multiples of this many bytes. Tensors of a model are also rounded up to it."


@command_of(
    QUESTION,
    Flag("alignment", type=integer, metavar="SIZE", help=_ALIGNMENT),
    beside=(PAGE, CERTIFICATE, *MODELS),
    needs_plans=(PAGE, *MODELS),
)
def order(line: CommandLine) -> int:
    """Print the answer and write the output files; a certificate is computed only if an output file needs it."""
    load_writing(line.given)
    call = read_call(line)
    refuse_no_model(call)
    if call.flags["recompute"] and call.has_output(CERTIFICATE, *MODELS):
        raise OptionError(f"output: must be JSON or a page if recompute is given, got {', '.join(call.outputs)}")
    if call.has_output(CERTIFICATE):
        call.change(with_certificate=True)
    answer = answer_of_call(call)
    write_answer(call, answer)
    models = dict.fromkeys(MODELS, lambda path: _model_bytes(call, answer, path))
    drawn = {
        PAGE: lambda path: _page_bytes(call, answer, path),
        CERTIFICATE: lambda _path: _certificate_bytes(call, answer),
    }
    write_beside(call, {**drawn, **models})
    return end_call(call, answer)


def load_writing(given: Mapping[str, Any]) -> None:
    """Import the module `writing` if an output path in `given` has the suffix of a model file."""
    if any(suffix_of(path) in MODELS for path in given["outputs"] or ()):
        import memplan.programs.commands.writing  # noqa: F401


def refuse_no_model(call: Call) -> None:
    """Raise OptionError if an output path is that of a model file, but the input is not a model of the same format."""
    for path in call.outputs:
        if suffix_of(path) not in MODELS:
            continue
        if call.reader.imported is None:
            raise OptionError(f"output: must not be a model unless the input is a model, got {excerpt(path)}")
        from memplan.programs.commands.writing import refuse_other_format

        refuse_other_format(call.reader, path)


def _certificate_bytes(call: Call, answer: Any) -> bytes | None:
    """Return the bytes of an answer's certificate; without a certificate, report the reason and return None."""
    certificate = answer.certificate
    if certificate is not None and certificate.text is None:
        call.said.append(f"no certificate: {certificate.reason}")
    return None if certificate is None or certificate.text is None else bytes(certificate.text.encode())


def _has_plan(call: Call, answer: Any, path: str) -> bool:
    if answer.placed is None:
        call.exit_status = 1
        call.said.append(f"{path}: not written, as the time was over before the order had a plan")
    return answer.placed is not None


def _page_bytes(call: Call, answer: Any, path: str) -> bytes | None:
    """Return the HTML page that shows an answer; if an order has no plan, report this and return None."""
    from memplan.api.reports.views import answer_pages

    title = call.title(answer.name)
    if answer.recomputed is not None:
        return answer_pages["recompute"](title, answer)
    return answer_pages["order"](title, answer) if _has_plan(call, answer, path) else None


def _model_bytes(call: Call, answer: Any, path: str) -> bytes | None:
    """Return the model file with reordered operations; None if the answer has no plan or the order gains nothing."""
    if not _has_plan(call, answer, path):
        return None
    from memplan.programs.commands.writing import write_model

    return model_if_gained(call, write_model(call.reader, answer), path)


def model_if_gained(call: Call, written: "ModelForm", path: str) -> bytes | None:
    """Add the messages of a written form to the call; return the bytes of the model file, or None on failure.

    If `written` has no data, or the runtime computes other values with the new file than with the input, return None
    and set the exit status to 1.
    """
    data, sentences = written.data, [f"{path}: {sentence}" for sentence in written.sentences]
    if data is not None and written.arena is not None:
        from memplan.planner.foreign.arena import rules_of

        rules = rules_of(call.reader.data)
        assert rules is not None, "a model with an arena is of a system with one"
        runs, said = rules.compare_forms(call.reader.data, data, call.reader.options)
        sentences[-1] += f"; {said}"
        data = None if runs is False else data
    if data is None:
        call.exit_status = 1
    call.said += sentences
    return data
