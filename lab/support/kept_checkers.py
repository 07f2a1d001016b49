"""Runs certificate checkers as long-running processes, so that checking 100,000 certificates takes only minutes."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.checkers.checkers import CHECKER
from tests.checkers.proved_checker import VERIFIED

_LOOP = """
let () = set_binary_mode_in stdin true; try while true do
  Scanf.sscanf (input_line stdin) "%d %d %d" (fun w a b ->
    let words = List.init w (fun _ -> input_line stdin) in
    Hashtbl.replace texts "problem" (really_input_string stdin a);
    Hashtbl.replace texts "certificate" (really_input_string stdin b);
    let status = answer words in Printf.printf "\\001%d\\n%!" status) done with End_of_file -> ()
"""
Answer = tuple[int, str]


class KeptProgram:
    """A long-running checker process, which checks pairs of problem and certificate one after another."""

    def __init__(self, program: Path) -> None:
        """Start the checker program as a child process."""
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answer(self, flags: Sequence[str], problem: bytes, certificate: bytes, sizes: Sequence[str]) -> Answer:
        """Check a certificate, given as bytes and not as a file, and return the checker's exit status and output."""
        words = [*flags, "problem", "certificate", *sizes]
        head = f"{len(words)} {len(problem)} {len(certificate)}"
        asked = "\n".join([head, *words, ""]).encode() + problem + certificate
        if self._process.stdin is None or self._process.stdout is None:
            raise OSError("the checker's process must have pipes for standard input and output")
        self._process.stdin.write(asked)
        self._process.stdin.flush()
        said = b""
        while not (line := self._process.stdout.readline()).startswith(b"\x01"):
            if not line:
                return self._process.wait(), "it ended"
            said += line.partition(b"\x01")[0]
            if b"\x01" in line:
                line = b"\x01" + line.partition(b"\x01")[2]
                break
        return int(line[1:]), said.decode(errors="replace").strip()


def python_verdict(flags: Sequence[str], problem: bytes, certificate: bytes, sizes: Sequence[str]) -> Answer:
    """Check a certificate, given as bytes, with the Python checker, and return its exit status and output."""
    CHECKER.Path = lambda name: _InMemoryFile(problem if name == "problem" else certificate)
    status, said = CHECKER.main([*flags, "problem", "certificate", *sizes])
    return status, said.strip()


class _InMemoryFile:
    """The content of a file in memory, with the method `read_bytes` that the Python checker calls."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read_bytes(self) -> bytes:
        return self._data


def proved_checker(folder: Path) -> KeptProgram:
    """Build and start the Coq-verified checker, changed only to read its standard input instead of files."""
    source = (VERIFIED / "check.ml").read_text()
    source, count = re.subn(
        r"let read name = .*\n", "let texts = Hashtbl.create 2\nlet read name = Hashtbl.find texts name\n", source
    )
    start = "let () = exit (try match List.tl (Array.to_list Sys.argv) with"
    if count != 1 or start not in source:
        raise ValueError("check.ml must define `read` once and contain the known call of `exit`")
    for file in (*VERIFIED.glob("*.ml"), VERIFIED / "Makefile"):
        shutil.copy(file, folder)
    (folder / "check.ml").write_text(source.replace(start, "let answer words = (try match words with") + _LOOP)
    subprocess.run(["make", "check"], cwd=folder, check=True, capture_output=True)
    return KeptProgram(folder / "check")
