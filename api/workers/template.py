"""The template of a pool's children: a process that has imported all modules, and is forked for each child.

A new process imports modules for more than a second; a fork is ready within milliseconds and shares their memory.
"""

import gc
import os
import signal
import socket
import struct
import subprocess
import threading

from memplan.solvers.processes.child import ChildProcess, ForkedProcess, start_module

_MODULE = "memplan.api.workers.child"
_NUMBER = struct.Struct("=i")
_NICENESS = 5
"""The niceness of children above that of the server, which has to receive and refuse requests while they search."""
_FORK, _LIVES, _STDERR = 0, 1 << 20, 2
Line = socket.socket


class Template:
    """The parent's end of the template, which starts at the first fork and restarts after it dies; thread-safe."""

    def __init__(self) -> None:
        """Start without a template process; the first fork starts it."""
        self._line: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._asking, self._is_closed = threading.Lock(), False

    def fork(self) -> "ForkedChild":
        """Return a new child that waits for tasks; raises EOFError if even a restarted template ends at once."""
        reads, gives = os.pipe()
        hears, answers = os.pipe()
        try:
            try:
                pid = self._request_fork(_FORK, reads, answers)
            except EOFError:  # The template process has died; a second request starts a new template process.
                pid = self._request_fork(_FORK, reads, answers)
        except BaseException:
            os.close(gives)
            os.close(hears)
            raise
        finally:
            os.close(reads)
            os.close(answers)
        return ForkedChild(self, ForkedProcess(pid, os.fdopen(gives, "wb"), os.fdopen(hears, "rb")))

    def status(self, pid: int) -> int | None:
        """Return a child's exit status; None while the child lives. Children of a lost template count as killed."""
        try:
            status = self._request_fork(pid)
        except EOFError:
            return -signal.SIGKILL
        return None if status == _LIVES else status

    def close(self) -> None:
        """End the template process for good; a request that waits for its answer ends, too, and is not repeated."""
        self._is_closed = True
        if (process := self._process) is not None:
            process.kill()
        with self._asking:
            self._end_process()

    def _request_fork(self, number: int, *pipes: int) -> int:
        """Send the template a number and the ends of pipes, and return its answer; raises EOFError if it has died."""
        with self._asking:
            try:
                if self._line is None:
                    if number != _FORK or self._is_closed:
                        raise EOFError
                    self._line = self._start_process()
                socket.send_fds(self._line, [_NUMBER.pack(number)], pipes)
                if len(answer_bytes := self._line.recv(_NUMBER.size)) == _NUMBER.size:
                    return int(_NUMBER.unpack(answer_bytes)[0])
            except OSError:
                pass
            self._end_process()
            raise EOFError

    def _start_process(self) -> socket.socket:
        ours, its = socket.socketpair()
        with its:
            self._process = start_module(_MODULE, None, _STDERR, its.fileno())
        return ours

    def _end_process(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
            if self._process is not None:
                self._process.kill()
                self._process.wait()


class ForkedChild(ChildProcess):
    """A child forked from a template; the template, its parent, reports its exit status."""

    def __init__(self, template: Template, made: ForkedProcess) -> None:
        """Use the process that the template has forked."""
        super().__init__(made)
        self._template = template

    def _exit_status(self) -> int | None:
        return self._template.status(self.pid)


def fork_always(line: socket.socket) -> None:
    """Fork for every request on a socket; return in each fork, with its pipes as standard input and output.

    The template process itself never returns; it ends when the process at the other end of the socket ends.
    """
    os.nice(_NICENESS)
    gc.freeze()  # garbage collection does not touch frozen objects, so their memory stays shared
    while True:
        try:
            request_bytes, pipes, _, _ = socket.recv_fds(line, _NUMBER.size, 2)
            if len(request_bytes) < _NUMBER.size:
                os._exit(0)
            if (pid := _NUMBER.unpack(request_bytes)[0]) != _FORK:
                line.send(_NUMBER.pack(_ended_status(pid)))
                continue
            if (pid := os.fork()) == 0:
                break
            os.setpgid(pid, pid)  # Parent and child both set the process group, so it exists before either uses it.
            for pipe in pipes:
                os.close(pipe)
            line.send(_NUMBER.pack(pid))
        except ConnectionError:  # The process that requests forks has died, so end this process as well.
            os._exit(0)
    os.setpgid(0, 0)
    line.close()
    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number)
        os.close(pipe)


def _ended_status(pid: int) -> int:
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return -signal.SIGKILL
    return os.waitstatus_to_exitcode(status) if ended else _LIVES
