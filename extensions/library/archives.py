"""The ZIP archive with the files of one kind of problems, which is committed and unpacked for use.

An archive contains no times, and its members are sorted by name. So equal files always give the same archive, and a
better plan changes only its own member. The files are unpacked next to the archive, into folders that Git ignores. A
note file there records the archive's hash.
"""

from hashlib import sha256
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from memplan.files import os_errors_named, write_file_atomically
from memplan.planner.errors import FormatError

ARCHIVE = "files.zip"
FOLDERS = ("plans", "problems", "proofs")
_UNPACKED = ".unpacked"
"""The name of the note file, which records the hash of the unpacked archive and the names of its files."""
_MODE = 0o644 << 16


def unpack(kind: Path) -> None:
    """Unpack the archive of a kind into its folder, if the archive changed or a file is missing.

    Files of the previously unpacked archive that are not in the new archive are deleted.
    """
    archive, note = kind / ARCHIVE, kind / _UNPACKED
    if not archive.exists():
        return
    data = archive.read_bytes()
    digest = sha256(data).hexdigest()
    was, *before = note.read_text(encoding="utf-8").splitlines() if note.exists() else [""]
    if was == digest and all((kind / name).exists() for name in before):
        return
    try:
        with ZipFile(BytesIO(data)) as members:
            names = members.namelist()
            if wrong := [name for name in names if not _is_inside(name)]:
                raise FormatError(f"{archive}: must contain only files in {', '.join(FOLDERS)}, got {wrong[0]}")
            for name in names:
                write_file(kind / name, members.read(name))
    except BadZipFile as error:
        raise FormatError(f"{archive}: must be a ZIP file: {error}") from error
    for name in set(before).difference(names):
        (kind / name).unlink(missing_ok=True)
    _write_note(kind, data, names)


def pack(kind: Path) -> bool:
    """Pack the files in the folder of a kind into its archive, and return True if the archive changed."""
    archive = kind / ARCHIVE
    names = [f"{folder}/{path.name}" for folder in FOLDERS for path in sorted((kind / folder).glob("[!.]*"))]
    data = pack_archive({name: (kind / name).read_bytes() for name in names})
    is_new = not archive.exists() or archive.read_bytes() != data
    if is_new:
        write_file_atomically(str(archive), data)
    _write_note(kind, data, names)
    return is_new


def pack_archive(files: dict[str, bytes]) -> bytes:
    """Return the bytes of a ZIP archive of the given files, which are given as contents by name."""
    written = BytesIO()
    with ZipFile(written, "w") as archive:
        for name in sorted(files):
            about = ZipInfo(name)  # A ZipInfo has a constant time by default, so equal files give equal archives.
            about.compress_type, about.create_system, about.external_attr = ZIP_DEFLATED, 3, _MODE
            archive.writestr(about, files[name], compresslevel=9)
    return written.getvalue()


def write_file(path: Path, data: bytes) -> None:
    """Write a file of the library, after creating its folder if that is missing."""
    with os_errors_named(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_file_atomically(str(path), data)


def _is_inside(name: str) -> bool:
    folder, _, file = name.partition("/")
    return folder in FOLDERS and bool(file) and "/" not in file and "\\" not in file


def _write_note(kind: Path, data: bytes, names: list[str]) -> None:
    note = "".join(f"{line}\n" for line in (sha256(data).hexdigest(), *names))
    write_file_atomically(str(kind / _UNPACKED), note.encode())
