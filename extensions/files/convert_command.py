"""The command `memplan convert`, which answers the question `convert` and writes the output files."""

import re
import shlex
from pathlib import Path

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import Call, answer_of_call, end_call, read_call, write_answer
from memplan.api.cli.flags import Flag
from memplan.api.cli.question_command import command_of
from memplan.api.cli.streams import STANDARD, refuse_unwritable, write_output
from memplan.extensions.files.convert.answer import Converted, facts
from memplan.extensions.files.convert.convert import QUESTION
from memplan.extensions.files.convert.options import TFLITE, target_of_name
from memplan.planner.errors import OptionError, excerpt
from memplan.planner.foreign.arena import ArenaRules, rules_of
from memplan.planner.foreign.writing import EXPORTERS
from memplan.questions.reading import ReadOptions

_OUTPUT = (
    "Write the result to this file, or to standard output for -. Its suffix chooses the form. "
    "Names in C and in linker scripts begin with the name of the file. For C, a header is written "
    "beside the source."
)


@command_of(QUESTION, Flag("output", "--output", "-o", metavar="FILE", help=_OUTPUT))
def convert(line: CommandLine) -> int:
    """Answer the question `convert`, write the files in the requested format, and return the exit status."""
    call = read_call(line)
    _set_target(call)
    answer, output = answer_of_call(call), call.flags["output"]
    if output is not None and answer.not_written is None:
        _write_files(output, answer)
    write_answer(call, answer, is_written=output is not None)
    if output is not None:
        names = [call.files["file"], call.files["plan"]]
        files = None if None in names else list(map(str, names))
        rules = rules_of(call.values["file"]) if isinstance(call.values["file"], bytes) else None
        call.said += call.writing(lambda: _conversion_lines(output, answer, call.reader.options, files, rules))
    return end_call(call, answer)


def _set_target(call: Call) -> None:
    """Set a call's target, C prefix and name from its file names. Raises OptionError for an unusable output file."""
    output, file = call.flags["output"], call.files["file"]
    if output is not None and call.flags["program"]:
        raise OptionError("program: applies only without -o, whose file has no other facts: leave one of them out")
    if output is not None and output != STANDARD:
        if Path(output).resolve() == Path(file or "").resolve():
            raise OptionError(f"output: must not be a file that the command reads, got {excerpt(output)}: name another")
        refuse_unwritable(output)
        target = call.flags["to"] or target_of_name(output)
        if {target, Path(output).suffix[1:]} == {"csv", "json"}:
            call.say(f"warning: {output} is written as {target}, as --to says, not as its suffix says")
        call.change(to=target)
        if call.flags["prefix"] is None and ((target in EXPORTERS and target != TFLITE) or call.flags["c_array"]):
            call.change(prefix=Path(output).stem or output)
    if call.flags["name"] is None and file != STANDARD:
        call.change(name=file)


def _write_files(output: str, answer: Converted) -> None:
    """Write the files of an answer to the output file, or near it. Raises OptionError for an unusable file name."""
    kind = "problem" if answer.to == "json" else answer.to
    files = {file.suffix: file.data for file in answer.files} or {"": answer.documents[kind]}
    if output == STANDARD:
        if "" not in files:
            raise OptionError(f"output: must be a file name for {answer.to}, which writes several files, got -")
        write_output(output, files[""])
        return
    path = Path(output)
    if "" not in files and path.suffix not in files:
        raise OptionError(f"output: must end in {' or '.join(files)} for {answer.to}, got {excerpt(output)}")
    targets = {str(path.with_suffix(suffix) if suffix else path): data for suffix, data in files.items()}
    for target in targets:
        refuse_unwritable(target)
    for target, data in targets.items():
        write_output(target, data)


def _conversion_lines(
    output: str, answer: Converted, options: ReadOptions, files: list[str] | None, rules: ArenaRules | None
) -> list[str]:
    lines, path = list(facts(answer)), Path(output)
    is_c, is_placed = answer.to == "c" and files is not None, all("@" in text for text in options.capacity)
    if is_c and options.capacity and is_placed:
        script = shlex.quote(str(path.with_suffix(".ld")))
        what = f"places the pools at their addresses: write INCLUDE {script} into your board.ld, before .bss"
        lines.append(f"`memplan convert {shlex.join(files or ())} -o {script}` writes the linker script that {what}")
    if is_c and answer.not_written is None and rules is not None and len(options.capacity) > 1:
        gcc = rules.compiler(options)
        part, program = str(path.with_suffix(".o")), shlex.join(["-o", str(path.with_suffix(".elf"))])
        lines.append(
            f"`{gcc} -c {shlex.join([str(path.with_suffix('.c')), '-o', part])}`, then with your main.c"
            f" `{gcc} main.c {shlex.quote(part)}{' -T board.ld' * is_placed} {program}`, then"
            f" `{re.sub('g?cc', 'size', gcc.split()[0])}{program.removeprefix('-o')}` make and measure the program"
        )
    if answer.not_written is not None:
        lines.append(f"{output}: not written, as {answer.not_written}")
    elif answer.arena is not None:
        unchanged = "the model as given, as nothing is gained; " if answer.is_as_given else ""
        form, written = answer.deployment, answer.files[0].data
        assert rules is not None, "only a system with rules for arenas gives an arena"
        lines.append(f"{output}: {unchanged}{form.measured if form else rules.runtime_verdict(written, options)}")
    return lines
