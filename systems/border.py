"""The border of readers: whatever a stranger's bytes do to one is an error of the file, on every entrance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memplan.planner.errors import FormatError, MemplanError, shown


@contextmanager
def stranger_bytes() -> Iterator[None]:
    """Raise FormatError in place of what a reader did not foresee; errors of memplan's own go through."""
    try:
        yield
    except MemplanError:
        raise
    except RecursionError as error:
        raise FormatError("must not be nested deeper than its reader can follow") from error
    except MemoryError as error:
        raise FormatError("needs more memory to be read than there is") from error
    except Exception as error:
        raise FormatError(f"cannot be read: its reader failed ({_what(error)})") from error


def _what(error: Exception) -> str:
    """Return the kind of an error, with the name that was looked for in vain, where it is one."""
    kind = type(error).__name__
    return f"{kind}: {shown(error.args[0])}" if isinstance(error, KeyError) and error.args else kind
