"""Build the files of a release on one machine: a source archive, a wheel for each platform, and their checksums.

The source archive contains the last commit. The wheels are built from this archive, and zig (`pip install ziglang`)
compiles them. The files depend only on the commit: `--again` also builds them in a second folder, and fails if a byte
differs.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from runpy import run_path

from lab.support.rehearsal import ROOT as ROOT
from lab.support.rehearsal import rehearse
from memplan.planner import __version__

TARGETS: dict[str, str] = run_path(str(ROOT / "hatch_build.py"))["TARGETS"]
MOST_BYTES = 6_000_000
SUMS = "SHA256SUMS"


def main(words: Sequence[str] | None = None) -> int:
    """Build the release files that the command-line arguments select; return 1 if a file is faulty, else 0."""
    parser = argparse.ArgumentParser(prog="python -m lab.release", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "dist", help="where it goes (dist)")
    parser.add_argument("--target", choices=TARGETS, action="append", help="only this platform; may be repeated")
    parser.add_argument("--tag", help="fail if the tag is not that of the version of memplan")
    parser.add_argument("--again", action="store_true", help="make it once more elsewhere, and compare the bytes")
    parser.add_argument("--rehearse", action="store_true", help="run all steps of RELEASING.md in a clone, for hours")
    parser.add_argument("--without", type=int, action="append", default=[], help="a step that is not rehearsed")
    parser.add_argument("--clone", type=Path, help="the folder of a rehearsal, which stays; one is gone on with")
    given = parser.parse_args(words)
    if given.rehearse:
        with tempfile.TemporaryDirectory() as temporary:
            return rehearse(given.without, given.clone or Path(temporary))
    if given.tag not in (None, f"v{__version__}"):
        parser.error(f"--tag: must be v{__version__}, got {given.tag}")
    targets = given.target or list(TARGETS)
    given.folder.mkdir(parents=True, exist_ok=True)
    made = make(given.folder.resolve(), targets)
    wrong = [fault for file in made for fault in faults(file)]
    if given.again:
        with tempfile.TemporaryDirectory() as elsewhere:
            again = make(Path(elsewhere).resolve(), targets)
            wrong += [
                f"{one.name}: other bytes when it is made again"
                for one, other in zip(made, again, strict=True)
                if digest(one) != digest(other)
            ]
    sums = "".join(f"{digest(file)}  {file.name}\n" for file in sorted(made))
    (given.folder / SUMS).write_text(sums, encoding="utf-8")
    sys.stdout.write("".join(f"{file.stat().st_size:>10,} {file.name}\n" for file in made))
    sys.stderr.write("".join(f"{fault}\n" for fault in wrong))
    return int(bool(wrong))


def make(folder: Path, targets: Sequence[str]) -> list[Path]:
    """Build the source archive of the last commit, and a wheel per target from it, in `folder`; return their paths."""
    # zig caches its results by path, so always build in the same folder.
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    (work / "checkout").mkdir(parents=True)
    archived = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    subprocess.run(["tar", "--extract", "--directory", str(work / "checkout")], input=archived.stdout, check=True)
    source = build(work / "checkout", "sdist", folder)
    made = [source]
    for target in targets:
        with tarfile.open(source) as archive:
            archive.extractall(work / target, filter="data")
        (unpacked,) = (work / target).iterdir()
        made.append(build(unpacked, "wheel", folder, target))
    shutil.rmtree(work)
    return made


def build(project: Path, kind: str, folder: Path, target: str = "") -> Path:
    """Build a source archive or wheel (`kind`) of a project folder; return its path in `folder`."""
    moment = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory(dir=folder) as alone:
        command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", alone]
        settings = {"SOURCE_DATE_EPOCH": moment, "MEMPLAN_TARGET": target}
        subprocess.run(command, cwd=project, env=os.environ | settings, check=True, stdout=subprocess.DEVNULL)
        (made,) = Path(alone).iterdir()
        return Path(shutil.move(made, folder / made.name))


def faults(file: Path) -> Iterator[str]:
    if (size := file.stat().st_size) > MOST_BYTES:
        yield f"{file.name}: must have at most {MOST_BYTES:,} bytes, got {size:,}"
    if file.suffix != ".whl":
        return
    with zipfile.ZipFile(file) as wheel:
        (about,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        for line in re.findall(r"^Requires-Dist: .* @ .*$", wheel.read(about).decode(), re.MULTILINE):
            yield f"{file.name}: package indexes reject the direct reference in `{line}`"


def digest(file: Path) -> str:
    """Return the SHA-256 digest of a file as hexadecimal digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
