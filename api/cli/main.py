"""The program `memplan`: it runs a command, and turns signals and errors into exit statuses."""

import gc
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from memplan.api.cli.running import FAULT, WRONG_INPUT, InterruptedRun, OneCommand, handle_signal, handle_signals, leave
from memplan.solvers.processes.threads import SETTING, max_threads

_EXTRAS = {"serve": "server", "keys": "server", "database": "server", "worker": "server"}
"""The extra to install for each command that needs more than one optional package."""
_OF_LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Environment variables from which numerical libraries read their thread count at import."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; by default, the arguments are those of this process."""
    if arguments is None:
        OneCommand.is_run = True
        gc.disable()  # Imports create no garbage, so turn off garbage collection to save time.
        # Without this variable, pydantic would search every package for plugins, which is slow.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        # Without this variable, OpenBLAS would start threads that stay idle.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with handle_signals(leave):
            status = _run_command(list(sys.argv[1:] if arguments is None else arguments))
    except InterruptedRun as interrupted:
        status = interrupted.status
    except Exception as error:  # noqa: BLE001 - exit status 1 is reserved for infeasible problems
        status = _report_fault(error)
    if arguments is not None:
        return status
    gc.freeze()  # exit frees all memory anyway, so skip Python's final garbage collection
    if any(getattr(thread, "is_abandoned", False) for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            # The output stream may be closed already, so ignore errors.
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
        os._exit(status)  # A normal exit would wait for abandoned threads, so end the process at once.
    return status


@contextmanager
def _apply_threads(given: list[str]) -> Iterator[list[str]]:
    """Remove `--threads` from a command line, and yield the rest.

    While the block runs, the number of threads is set in environment variables, also for numerical libraries.
    """
    k = next((k for k, word in enumerate(given) if word.partition("=")[0] == "--threads"), len(given))
    taken = given[k : k + 1] if "=" in "".join(given[k : k + 1]) else given[k : k + 2]
    number = taken[-1].rpartition("=")[2] if taken else ""
    before = dict(os.environ)
    try:
        if number.lstrip("-").isdecimal() and int(number) < 1:
            from memplan.planner.errors import OptionError

            way = "the default is as many as this process may use"
            raise OptionError(f"threads: must be at least 1, got {number}; {way}")
        # The command's parser reports a value of --threads that is not a number, so leave such a value in place.
        if number.isascii() and number.isdecimal():
            os.environ[SETTING], given = number, given[:k] + given[k + len(taken) :]
        if (most := max_threads()) is not None:
            for name in _OF_LIBRARIES:
                os.environ.setdefault(name, str(most))
        yield given
    finally:
        for name in (SETTING, *_OF_LIBRARIES):
            os.environ.pop(name, None)
            os.environ.update({name: before[name]} if name in before else {})


def _report_write_failure(error: OSError) -> int:
    from memplan.api.cli.streams import print_message

    print_message(f"memplan: error: standard streams: {(error.strerror or str(error)).lower()}")
    return WRONG_INPUT


def _run_command(given: list[str]) -> int:
    """Run the command that the first argument names, and return its exit status."""
    # Import click after `handle_signals`, so that Ctrl-C during the import ends the program without a traceback.
    from click import UsageError

    from memplan.api.cli.commands import find_command
    from memplan.api.cli.streams import begin_command, print_message
    from memplan.api.garbage import collect_rarely
    from memplan.planner.errors import InputError, ReaderFaultError, UnbuiltError
    from memplan.planner.errors.extras import missing_package_text

    begin_command()
    try:
        with _apply_threads(given) as rest:
            command = find_command(rest)
            collect_rarely()
            with handle_signals(handle_signal):
                return command.run(args=command.arguments, prog_name=command.name, standalone_mode=False) or 0
    except UsageError as error:
        from memplan.api.cli.usage import leave_near_words, usage_hints

        leave_near_words(error)
        with suppress(OSError):  # Standard error may be closed as well, so ignore errors.
            error.show()
        for hint in usage_hints(error, given):
            print_message(f"memplan: {hint}")
        return WRONG_INPUT
    except InputError as error:
        from memplan.api.cli.flag_names import flag_text

        for sentence in error.sentences_in_syntax(flag_text):
            print_message(f"memplan: error: {sentence}")
        return WRONG_INPUT
    except UnbuiltError as error:
        print_message(f"memplan: error: {error}")
        return WRONG_INPUT
    except ReaderFaultError as fault:
        print_message(f"memplan: error: {fault}")
        return FAULT
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "memplan"):
            raise
        name = given[0] if given else "memplan"
        print_message(f"memplan: error: {name}: {missing_package_text(package, _EXTRAS.get(name))}")
        return WRONG_INPUT
    except OSError as error:  # Click writes help texts without error handling, so a failed write arrives here.
        return _report_write_failure(error)
    except InterruptedRun:
        raise
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 0


def _report_fault(error: Exception) -> int:
    """Print the traceback of an internal error and a line that asks for a report; return the exit status."""
    import traceback

    from memplan.api.cli.streams import print_message

    text = f"a fault of memplan, please report it: {type(error).__name__}: {error}"
    print_message(f"{traceback.format_exc()}memplan: error: {text}")
    return FAULT


if __name__ == "__main__":
    sys.exit(main())
