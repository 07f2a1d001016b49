"""A compiler cache: `python compile_once.py COMPILER ARGUMENT...` compiles each source text and flags only once.

The core has the same text in wheels, CMake builds and installations, and compiling it takes 14 s of CPU time.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

ONCE = (sys.executable, __file__)
FOLDER = Path(sys.prefix) / "objects"
MOST = 100
"""The maximum number of objects in the cache; the oldest ones are removed."""


def main(command: list[str]) -> int:
    """Run a compiler, or copy the cached object of the same text, and return the exit status."""
    if "-c" not in command or "-o" not in command:
        return subprocess.run(command, check=False).returncode
    at = command.index("-o")
    made, without = command[at + 1], command[:at] + command[at + 2 :]
    text = subprocess.run([*without, "-E", "-P"], stdout=subprocess.PIPE, check=False)
    if text.returncode:
        return text.returncode
    version = subprocess.run([command[0], "--version"], stdout=subprocess.PIPE, check=False).stdout
    flags = [word for word in without[1:] if not word.startswith("-I") and not Path(word).suffix]
    kept = FOLDER / f"{hashlib.sha256(version + os.fsencode(' '.join(flags)) + text.stdout).hexdigest()}.o"
    if kept.exists():
        shutil.copy(kept, made)
        return 0
    status = subprocess.run(command, check=False).returncode
    if status == 0:
        with suppress(OSError):
            keep(Path(made), kept)
    return status


def keep(made: Path, kept: Path) -> None:
    FOLDER.mkdir(exist_ok=True)
    whole = kept.with_suffix(f".{os.getpid()}")
    shutil.copy(made, whole)
    whole.replace(kept)
    for old in sorted(FOLDER.glob("*.o"), key=lambda file: file.stat().st_mtime)[:-MOST]:
        old.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
