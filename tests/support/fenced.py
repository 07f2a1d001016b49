"""A child process that reports its restrictions; `ChildProcess` finds this module on PYTHONPATH."""

import os
from pathlib import Path

from memplan.solvers.processes.harden import forbid_file_writing, limit_memory
from memplan.solvers.processes.parent import Parent


def _error_of(call: object, *values: object) -> str:
    try:
        call(*values)  # type: ignore[operator]
    except (OSError, MemoryError) as error:
        return type(error).__name__
    return "none"


def main() -> None:
    """Report the names of environment variables, `NoNewPrivs`, and the errors of operations that must fail."""
    parent = Parent()
    forbid_file_writing()
    limit_memory(2**30)
    status = Path("/proc/self/status").read_text().splitlines()
    rights = next(line.split()[1] for line in status if line.startswith("NoNewPrivs"))
    errors = [_error_of(parent.task.write_bytes, b"x"), _error_of(bytearray, 2**31)]
    parent.send([list(os.environ), rights, errors, len(bytearray(2**24)) == 2**24])


if __name__ == "__main__":
    main()
