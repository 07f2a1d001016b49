"""Child processes that a server keeps running: each is replaced when it ends, or gives no sign of life."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import signal
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping

from memplan.solvers.processes.child import command
from memplan.solvers.processes.harden import plain_environment

_PAUSES_S = (0.0, 1.0, 2.0, 5.0, 10.0)
"""The pauses before a process that ended soon, and again and again, is replaced."""
_LONG_LIFE_S = 30.0
_LAST_S = 5.0
"""The time that a process may take to end once it has closed its pipe."""
_LOG = logging.getLogger("memplan")


class Supervisor:
    """Keeps processes running that run a module, each with a task. For one event loop.

    Each writes a byte once it is ready, within `start_s`; where `silent_s` is given, others at least as often. The task
    comes by standard input, which is open for as long as this process lives. Of this process's environment they have
    what is harmless, and `environment`. `on_end` gets the number of one that ended.
    """

    def __init__(
        self,
        name: str,
        module: str,
        start_s: float,
        silent_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        pass_fds: tuple[int, ...] = (),
        on_end: Callable[[int], None] = lambda pid: None,
    ) -> None:
        self._name, self._module, self._patience_s = name, module, (start_s, silent_s)
        self._environment, self._pass_fds, self._on_end = environment, pass_fds, on_end
        self._running: set[Process] = set()
        self._keeping: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()
        self.n_ready = 0
        self.has_failed = False

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes that run."""
        return [process.pid for process in self._running]

    def keep(self, task: object) -> None:
        """Start a process with a task, and replace it whenever it ends; `has_failed` says that one was never ready."""
        self._keeping.append(asyncio.create_task(self._keep(task)))

    async def stop(self, within_s: float = 0.0) -> None:
        """End all processes: they are stated to, and killed where that takes longer."""
        self._stopping.set()
        if within_s > 0 and self._keeping:
            for process in self._running:
                with contextlib.suppress(ProcessLookupError):
                    process.terminate()
            await asyncio.wait(self._keeping, timeout=within_s)
        for task in self._keeping:
            task.cancel()
        await asyncio.gather(*self._keeping, return_exceptions=True)

    async def _keep(self, task: object) -> None:
        short_lives = 0
        while not self._stopping.is_set():
            began = time.monotonic()
            process = await self._started(task)
            self._running.add(process)
            try:
                if not self._stopping.is_set():  # else the others were stated before this one was there
                    await self._heard(process)
            finally:
                self._running.remove(process)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
                await process.wait()
                self._on_end(process.pid)
            if self._stopping.is_set():
                return
            _LOG.warning("%s %d ended, and is replaced", self._name, process.pid)
            short_lives = 0 if time.monotonic() - began > _LONG_LIFE_S else short_lives + 1
            await asyncio.sleep(_PAUSES_S[min(short_lives, len(_PAUSES_S)) - 1] if short_lives else 0.0)

    async def _started(self, task: object) -> Process:
        process = await asyncio.create_subprocess_exec(
            *command(self._module),
            stdin=PIPE,
            stdout=PIPE,
            env=plain_environment() | dict(self._environment or {}),
            pass_fds=self._pass_fds,
            process_group=0,  # a Ctrl-C at the terminal is for this process
        )
        assert process.stdin is not None
        process.stdin.write(pickle.dumps(task))
        return process

    async def _heard(self, process: Process) -> None:
        """Return when a process has ended, or gives no sign of life any more."""
        assert process.stdout is not None
        patience_s: float | None
        patience_s, silent_s = self._patience_s
        is_ready = False
        try:
            while await asyncio.wait_for(process.stdout.read(4096), patience_s):
                self.n_ready += not is_ready
                is_ready, patience_s = True, silent_s
            await asyncio.wait_for(process.wait(), _LAST_S)
        except TimeoutError:
            _LOG.warning("%s %d gave no sign of life for %.0f s", self._name, process.pid, patience_s or _LAST_S)
        finally:
            self.has_failed |= not is_ready
