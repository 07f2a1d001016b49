"""Command lines of many files, on the machines of a cluster: each takes a share of the files, in a process of its own.

A share travels with its files, and what it writes comes back: a machine needs memplan and nothing of this machine's.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from pydantic_core import to_json

from memplan.api.bench.away import lacking, needed
from memplan.api.bench.running import run
from memplan.api.cli.advice import CommandLine
from memplan.api.cli.commands import capability_of
from memplan.api.cli.from_capability import Ended, Keep, parameters_of, run_apart, say_wrong
from memplan.api.cli.running import FAULT
from memplan.api.cli.streams import STANDARD, begin_command, read_bytes, say
from memplan.api.clusters import MachineLostError, executor_on, is_unwanted
from memplan.files import save
from memplan.planner.errors import FileError, OptionError
from memplan.solvers.processes.child import ChildProcess
from memplan.solvers.processes.parent import Parent
from memplan.solvers.processes.threads import SETTING

_MOST, _EACH = 64, 4
"""The files of a share at most, and the shares that a processor takes of few files."""
_IDLE_S = 3.0
"""The seconds for which a process of shares waits for the next."""


Values = Mapping[str, Any]


@dataclass(frozen=True)
class _SentLine:
    """A command line for another machine, and the bytes of the files that it reads.

    Where some of its values are what its plan remembers, `plain` are those that were given.
    """

    given: Values
    plain: Values | None
    plan_hash: str | None
    files: Mapping[str, bytes]

    def in_folder(self, folder: Path) -> tuple[_SentLine, dict[str, str]]:
        """Return the line for its files in a folder, which it makes, and the names that its paths have there.

        Each has a folder of its own, since names of files say what is in them.
        """
        outputs = self.given.get("outputs") or ()
        there = {path: str(folder / str(k) / Path(path).name) for k, path in enumerate([*self.files, *outputs])}
        for path, name in there.items():
            Path(name).parent.mkdir(parents=True)
            if path in self.files:
                Path(name).write_bytes(self.files[path])

        def moved(values: Values) -> Values:
            return {name: _moved(value, there) for name, value in values.items()}

        plain = None if self.plain is None else moved(self.plain)
        return replace(self, given=moved(self.given), plain=plain, files={}), there


def _moved(value: Any, there: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_moved(one, there) for one in value]
    return there.get(value, value) if isinstance(value, str) else value


@dataclass(frozen=True)
class _Share:
    """Command lines of one command; where answers are wanted, they come back, and nothing is written."""

    command: str
    sent_lines: Sequence[_SentLine]
    threads: str | None
    wants_answers: bool


@dataclass(frozen=True)
class _Done:
    """What came of a command line: its exit status, what is wrong, what was said, its files, and its answer as JSON."""

    status: int
    wrong: Sequence[str]
    said: str = ""
    answer: str | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)


def run_away(lines: Sequence[CommandLine], on: str, keep: Keep | None = None) -> Iterator[Ended]:
    """Run the command lines of several files on a cluster, and yield each in turn, as `run_apart` does.

    Each answer goes to `keep` where that is given, and else into the files that its line names. Raises OptionError
    where there is no cluster, or a machine lacks something.
    """
    if lines[0].given["server"] is not None:
        raise OptionError("server: must not be given with --on: leave one out")
    with executor_on(on) as executor:
        executor.check(partial(lacking, needed([str(lines[0].given.get("solver") or "auto")])))
        each = max(1, min(_MOST, len(lines) // (_EACH * max(1, executor.places))))
        shares = [lines[k : k + each] for k in range(0, len(lines), each)]
        # As many again are on their way, lest a machine waits for the next.
        begun = run(
            range(len(shares)),
            lambda k: executor.submit(_done, _share(shares[k], keep is not None)),
            lambda: 2 * max(1, executor.places),
        )
        known, due = dict[int, Sequence[_Done]](), 0
        for k, future in begun:
            executor.begun(future)
            try:
                known[k] = future.result()
            except MachineLostError as error:
                known[k] = [_Done(FAULT, (str(error),)) for _ in shares[k]]
            while due in known:
                for line, done in zip(shares[due], known.pop(due), strict=True):
                    yield _ended(line, done, keep)
                due += 1


def _ended(line: CommandLine, done: _Done, keep: Keep | None) -> Ended:
    """Say and write here what came of a line elsewhere."""
    if done.said:
        say(done.said.rstrip("\n"))
    for path, data in done.files.items():
        save(path, data)
    if keep is not None and done.answer is not None:
        keep(line, line.capability.answer.model_validate_json(done.answer))
    say_wrong(line, done.wrong)
    return Ended(line, done.status, done.wrong)


def _share(lines: Sequence[CommandLine], wants_answers: bool) -> _Share:
    return _Share(lines[0].capability.name, [*map(_sent, lines)], os.environ.get(SETTING), wants_answers)


def _sent(line: CommandLine) -> _SentLine:
    """Return a line with its files; one that cannot be read is missed there, too."""
    files = dict[str, bytes]()
    for path in (line.given.get(each.name) for each in line.capability.inputs if each.from_file is not None):
        if path == STANDARD:
            raise OptionError("files: must be on a disk with --on, got - for standard input")
        if path is not None:
            with suppress(FileError):
                files[path] = read_bytes(path)
    given = {name: value.value if isinstance(value, Enum) else value for name, value in line.given.items()}
    return _SentLine({**given, "on": None, "more": None}, line.plain, line.plan_hash, files)


def _done(share: _Share) -> Sequence[_Done]:
    """Do a share on this machine, in a process that ends where nobody wants it any more."""
    with TemporaryDirectory(prefix="memplan-") as folder:
        moved = [sent.in_folder(Path(folder, f"{k:06}")) for k, sent in enumerate(share.sent_lines)]
        with _Idle.child(share.threads) as child:
            child.give(replace(share, sent_lines=[sent for sent, _ in moved]))
            answers = child.answer()
        outputs = [sent.given.get("outputs") or () for sent in share.sent_lines]
        rows = zip(answers, (there for _, there in moved), outputs, strict=True)
        return [_as_here(_Done(*answer), there, files) for answer, there, files in rows]


class _Idle:
    """Processes that wait for the next share, for a few seconds: one starts in the time of 300 small plans."""

    _waiting: ClassVar[list[tuple[str | None, ChildProcess]]] = []
    _lock = threading.Lock()

    @classmethod
    @contextmanager
    def child(cls, threads: str | None) -> Iterator[ChildProcess]:
        """Yield a process whose searches have so many threads; it waits after the block, and ends where that raises."""
        with cls._lock:
            k = next((k for k, (has, _) in enumerate(cls._waiting) if has == threads), None)
            child = None if k is None else cls._waiting.pop(k)[1]
        if child is None:
            child = ChildProcess(__name__, environment={} if threads is None else {SETTING: threads})
        child.limit(is_unwanted())
        try:
            yield child
        except BaseException:
            child.close()
            raise
        child.limit()
        with cls._lock:
            cls._waiting.append((threads, child))
        timer = threading.Timer(_IDLE_S, cls._end, (child,))
        timer.daemon = True
        timer.start()

    @classmethod
    def _end(cls, child: ChildProcess) -> None:
        with cls._lock:
            left = [each for each in cls._waiting if each[1] is not child]
            is_idle, cls._waiting[:] = len(left) < len(cls._waiting), left
        if is_idle:
            child.close()


def _as_here(done: _Done, there: Mapping[str, str], outputs: Sequence[str]) -> _Done:
    """Return what came of a command line with its outputs, all with the names that files have where it came from."""
    folders = [(name.removesuffix(Path(path).name), path.removesuffix(Path(path).name)) for path, name in there.items()]

    def told(text: str) -> str:
        for new, old in folders:
            text = text.replace(new, old)
        return text

    def as_json(text: str) -> str:
        for new, old in folders:
            text = text.replace(new, to_json(old).decode()[1:-1])
        return text

    written = {path: Path(there[path]) for path in outputs if Path(there[path]).is_file()}
    return replace(
        done,
        wrong=[*map(told, done.wrong)],
        said=told(done.said),
        answer=None if done.answer is None else as_json(done.answer),
        files={path: as_json(file.read_text()).encode() for path, file in written.items()},
    )


def main() -> None:
    """Run a process of shares: its tasks are shares, its answers what came of the command lines of each."""
    parent = Parent(is_kept=True)
    with suppress(EOFError):  # there is no next one
        while True:
            parent.send([*_ran(parent.next_task())])


def _ran(share: _Share) -> Iterator[Sequence[Any]]:
    """Run the command lines of a share, and yield what `_Done` is made of."""
    capability, extras = capability_of(share.command)
    parameters = parameters_of(capability, extras)
    for sent in share.sent_lines:
        begin_command()
        line, answers = CommandLine(capability, parameters, sent.given, sent.plain, sent.plan_hash), list[str]()

        def keep(_line: CommandLine, answer: Any, answers: list[str] = answers) -> None:
            answers.append(answer.model_dump_json())

        with redirect_stderr(io.StringIO()) as said:
            (done,) = run_apart([line], extras, keep if share.wants_answers else None)
        # What is wrong is printed where the line came from.
        yield done.status, done.wrong, "" if done.wrong else said.getvalue(), *answers


if __name__ == "__main__":
    main()
