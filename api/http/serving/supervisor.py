"""The supervisor of server processes: uvicorn's, but it notices a killed process at once."""

from __future__ import annotations

from uvicorn.supervisors import Multiprocess


class Supervisor(Multiprocess):
    """Starts server processes, and replaces those that end."""

    def keep_subprocess_alive(self) -> None:
        """Replace a process that has ended or does not respond."""
        for process in self.processes:
            # The end of the pipe that is the process's own: while it is open here, a pipe to a killed one does not end,
            # and its sign of life is waited for as long as that of one that starts.
            process.child_conn.close()
        super().keep_subprocess_alive()
