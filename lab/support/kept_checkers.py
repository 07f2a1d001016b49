"""Certificate checkers as long-running processes, so that a hundred thousand certificates take minutes."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from memplan.extensions.checkers.tests.checkers import CHECKER
from memplan.extensions.checkers.tests.proved_checker import VERIFIED

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
    """A checker in a process that checks one pair of files after another."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answer(self, flags: Sequence[str], problem: bytes, certificate: bytes, sizes: Sequence[str]) -> Answer:
        """Return the exit status of the checker and its output, for texts in place of files."""
        words = [*flags, "problem", "certificate", *sizes]
        head = f"{len(words)} {len(problem)} {len(certificate)}"
        asked = "\n".join([head, *words, ""]).encode() + problem + certificate
        if self._process.stdin is None or self._process.stdout is None:
            raise OSError("no pipes")
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
    """Return the exit status of the checker in Python and its output, for texts in place of files."""
    CHECKER.Path = lambda name: _Text(problem if name == "problem" else certificate)
    status, said = CHECKER.main([*flags, "problem", "certificate", *sizes])
    return status, said.strip()


class _Text:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def read_bytes(self) -> bytes:
        return self._data


def proved_checker(folder: Path) -> KeptProgram:
    """Return the checker proved in Coq, changed only to read texts instead of files."""
    source = (VERIFIED / "check.ml").read_text()
    source, count = re.subn(
        r"let read name = .*\n", "let texts = Hashtbl.create 2\nlet read name = Hashtbl.find texts name\n", source
    )
    start = "let () = exit (try match List.tl (Array.to_list Sys.argv) with"
    if count != 1 or start not in source:
        raise ValueError("check.ml reads its files, or ends, in another way")
    for file in (*VERIFIED.glob("*.ml"), VERIFIED / "Makefile"):
        shutil.copy(file, folder)
    (folder / "check.ml").write_text(source.replace(start, "let answer words = (try match words with") + _LOOP)
    subprocess.run(["make", "check"], cwd=folder, check=True, capture_output=True)
    return KeptProgram(folder / "check")
