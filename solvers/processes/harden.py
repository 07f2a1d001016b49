"""Hardening of a process that reads untrusted files: it gives up secrets, privileges and the right to write files.

If a malicious file takes control of the process, there is nothing to read and nowhere to write.
"""

import ctypes
import os
import signal
import sys

from memplan.solvers.processes.threads import SETTING

_NEEDED = frozenset(
    {
        *("PATH", "HOME", "USER", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT"),
        *("LD_LIBRARY_PATH", "LD_PRELOAD", "GLIBC_TUNABLES", "VIRTUAL_ENV", SETTING, "MEMPLAN_LOG_FORMAT"),
    }
)
_NEEDED_PREFIXES = ("LC_", "PYTHON", "MALLOC_", "OMP_", "OPENBLAS_", "MKL_", "DASK_", "COV")
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38


def plain_environment() -> dict[str, str]:
    """Return the environment variables that Python needs; variables that may hold keys or secrets are left out."""
    return {name: text for name, text in os.environ.items() if name in _NEEDED or name.startswith(_NEEDED_PREFIXES)}


def forbid_inspection() -> None:
    """Prevent other processes of the same user from reading the memory and environment of this process."""
    _set_process_option(_PR_SET_DUMPABLE, 0)


def forbid_new_privileges() -> None:
    """Prevent this process and its future children from gaining privileges."""
    _set_process_option(_PR_SET_NO_NEW_PRIVS, 1)


def die_with_parent() -> None:
    """Let the system kill this process once the process that forked it is gone."""
    _set_process_option(_PR_SET_PDEATHSIG, signal.SIGKILL)


def forbid_file_writing() -> None:
    """Prevent this process from writing to files; writing to pipes still works."""
    if sys.platform != "win32":
        import resource

        for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
            resource.setrlimit(limit, (0, 0))


def limit_memory(most_bytes: int) -> None:
    """Limit the memory of this process to `most_bytes`; allocations beyond the limit raise MemoryError."""
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (most_bytes if hard < 0 else min(most_bytes, hard), hard))


def _set_process_option(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
