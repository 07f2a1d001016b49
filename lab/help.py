"""Write the help of memplan's own commands, which showing it reads: python -m lab.help."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout
from pathlib import Path

from memplan.api.cli.commands import COMMANDS, Runnable, app, made, runnable
from memplan.questions import questions

FOLDER = Path(__file__).parent.parent / "api" / "cli" / "texts"
OWN = [*(name for name in questions() if name not in COMMANDS), *COMMANDS]


def texts() -> dict[str, str]:
    """Return the help of each command by its name, and the list of all as `memplan`, as the parser formats them."""
    commands = {name: runnable([name, "--help"]) for name in OWN}
    commands["memplan"] = Runnable(app(OWN, made), "memplan", ["--help"])
    return {name: shown(command) for name, command in commands.items()}


def shown(command: Runnable) -> str:
    """Return what a command writes to standard output."""
    with redirect_stdout(io.StringIO()) as written:
        command.run(args=command.arguments, prog_name=command.name, standalone_mode=False)
    return written.getvalue()


def main() -> int:
    """Write the texts."""
    for name, text in texts().items():
        (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
