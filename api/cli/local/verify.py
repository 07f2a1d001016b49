"""`memplan verify`: verify a plan, including a plan stored in a model file, and write a better plan or a page."""

import shlex
from pathlib import Path
from typing import Any

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import answer_of_call, end_call, read_call, write_answer, write_beside
from memplan.api.cli.flags import BROWSER, SAVE_PLAN, TABLE, Flag
from memplan.api.cli.local.beside_plan import open_page, plan_page
from memplan.api.cli.question_command import command_of
from memplan.api.cli.streams import PAGE, write_output
from memplan.api.reports.plan_formats import write_plan
from memplan.planner.errors import FileError, OptionError
from memplan.questions.verify.verify import QUESTION

_SOLUTION = (
    "In place of a plan, read the solution of the problem's integer program (`convert -o model.lp` or .mps) that HiGHS,"
    " CBC or SCIP wrote."
)


@command_of(
    QUESTION,
    SAVE_PLAN,
    Flag("solution", metavar="FILE", help=_SOLUTION),
    formats=("json", TABLE, BROWSER),
    beside=(PAGE,),
)
def verify(line: CommandLine) -> int:
    """Verify the plan of a command line; write a better plan and a page if they are requested."""
    if (solution := line.given["solution"]) is not None:
        if line.given["plan"] is not None:
            raise OptionError(
                "solution: must not be given with a plan, which it replaces, got both", way="leave one of them out"
            )
        if not Path(solution).exists():
            program = f"`memplan convert {shlex.join([str(line.file), '-o', 'program.lp'])}`"
            rule = f"{solution}: no such file or directory in {Path.cwd()}"
            raise FileError(f"{rule}; {program} writes the program, which HiGHS, CBC or SCIP solves")
        line = line._replace(given={**line.given, "plan": solution})
    call = read_call(line)
    options: Any = call.options
    save_plan, values = call.flags["save_plan"], call.values
    if save_plan is not None:
        if not (options.better or options.again):
            raise OptionError("save-plan: applies only with --better or --again, whose plan it saves")
        call.change(with_plans=True)
    answer = answer_of_call(call)
    write_answer(call, answer, says_lines=True)
    write_beside(call, {PAGE: lambda _path: plan_page(call, values["plan"])})
    part = answer.better if answer.again is None else answer.again
    if save_plan is not None and part is not None and part.plan is not None:
        write_output(save_plan, write_plan(part.plan, values["problem"], "json"))
    if call.opens:
        open_page(call, values["plan"])
    return end_call(call, answer)
