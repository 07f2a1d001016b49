"""`memplan certify`: write the certificate of a plan for `checkers/check.py`, or its proof for VeriPB."""

from pathlib import Path

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import Call, answer_of_call, end_call, read_call, write_answer
from memplan.api.cli.flags import Flag
from memplan.api.cli.question_command import command_of
from memplan.api.cli.running import graceful_interrupts
from memplan.api.cli.streams import CERTIFICATE, refuse_unwritable, suffix_of, write_output
from memplan.planner.model.plan import Plan
from memplan.questions.certify.certify import QUESTION, certify_plan, veripb_files
from memplan.solvers.processes.apart import run_in_thread

_OUTPUT = (
    "Write the certificate to this file, if there is one. For one pool, FILE.opb is a formula for "
    "VeriPB, with its proof in FILE.pbp."
)
_VERIPB = (".opb", ".pbp")


@command_of(QUESTION, Flag("output", "--output", "-o", metavar="CERTIFICATE", help=_OUTPUT))
def certify(line: CommandLine) -> int:
    """Answer a command line, and write the certificate, or for VeriPB a formula and its proof."""
    call = read_call(line)
    output = call.flags["output"]
    is_pair = output is not None and Path(output).suffix in _VERIPB
    targets = [str(Path(output).with_suffix(suffix)) for suffix in _VERIPB] if is_pair else [output] if output else []
    for path in targets:
        refuse_unwritable(path)
    answer = answer_of_call(call)
    write_answer(call, answer, says_lines=True)
    if answer.text and targets:
        texts = call.writing(lambda: veripb_files(call.values["problem"], answer)) if is_pair else (answer.text,)
        for path, text in zip(targets, texts, strict=True):
            write_output(path, text.encode())
    return end_call(call, answer)


def certified_plan(call: Call, answer: Plan) -> Plan:
    """Write a plan's certificate to the command's output file, and return the plan with a reference to this file.

    Without a proof there is no certificate: a message says why, and the plan has no reference.
    """
    (path, *_) = (path for path in call.outputs if suffix_of(path) == CERTIFICATE)
    with graceful_interrupts() as cancelled:
        limit_s = max(0.01, min(call.options.time_limit_s, call.left_s()))
        problem = call.values["problem"]
        plan, certificate = run_in_thread(lambda: certify_plan(problem, answer, path, limit_s, cancelled))
    if certificate.text:
        write_output(path, certificate.text.encode())
    else:
        call.said.append(f"no certificate: {certificate.reason}")
    return plan
