"""A PostgreSQL server for the tests, from the system's package."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.ports import free_port

_SAFE = ("-c", "shared_buffers=16MB")
_UNSAFE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
_NO_BACKGROUND = ("autovacuum=off", "bgwriter_lru_maxpages=0", "bgwriter_delay=10s", "wal_writer_delay=10s")
"""Settings that keep an idle server with dozens of databases from using a fifth of a processor."""
_FAST = (*_SAFE, *(word for setting in (*_UNSAFE, *_NO_BACKGROUND) for word in ("-c", setting)))
_PATIENCE_S = 30.0


def obstacle() -> str | None:
    """Return the reason why no server can be started here; None if one can."""
    if _program("initdb") is None:
        return "PostgreSQL's server is not installed"
    if os.geteuid() == 0 and (_user() is None or shutil.which("setpriv") is None):
        return "PostgreSQL does not run as root, and there is no user postgres to run it"
    return None


def _program(name: str) -> str | None:
    versions = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *versions]))


def _user() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return None


def _run_as() -> list[str]:
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []


@dataclass
class PostgreSQL:
    """A server that can be stopped, killed and started again, with its data kept."""

    folder: Path
    port: int
    is_safe: bool
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        places = ("-D", str(self.folder / "data"), "-k", str(self.folder), "-h", "127.0.0.1", "-p", str(self.port))
        with (self.folder / "log").open("ab") as log:
            words = [*_run_as(), str(_program("postgres")), *places, *(_SAFE if self.is_safe else _FAST)]
            self.process = subprocess.Popen(words, cwd="/", stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + _PATIENCE_S
        while not self._answers():
            assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
            assert time.monotonic() < deadline, "PostgreSQL did not start in time"
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill the server and all its processes, as a power cut would."""
        assert self.process is not None
        root = self.process.pid
        children = [int(pid) for pid in Path(f"/proc/{root}/task/{root}/children").read_text().split()]
        for pid in (root, *children):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(_PATIENCE_S)
        deadline = time.monotonic() + _PATIENCE_S
        while any(Path(f"/proc/{pid}/exe").exists() for pid in children):  # else the next server cannot start
            assert time.monotonic() < deadline, "PostgreSQL's processes do not die"
            time.sleep(0.01)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(_PATIENCE_S)

    def _answers(self) -> bool:
        asked = [str(_program("pg_isready")), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(asked, check=False).returncode == 0


@contextmanager
def postgresql(is_safe: bool = False) -> Iterator[PostgreSQL]:
    """Make and start a server, and remove it at the end; if `is_safe`, committed data survives a power cut."""
    folder = Path(tempfile.mkdtemp(prefix="memplan-postgresql-"))
    server = PostgreSQL(folder, free_port(), is_safe)
    try:
        if (user := _user()) is not None and os.geteuid() == 0:
            os.chown(folder, user.pw_uid, user.pw_gid)
        made = [*_run_as(), str(_program("initdb")), "-D", str(folder / "data"), "-U", "postgres"]
        options = ["--auth=trust", "--no-sync", "--no-locale", "--encoding=UTF8"]
        subprocess.run([*made, *options], cwd="/", check=True, capture_output=True)
        server.start()
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            server.kill()  # an orderly shutdown would write all databases to disk
        shutil.rmtree(folder)
