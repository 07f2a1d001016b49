"""Compiling the core: unchanged sources are not compiled again."""

from __future__ import annotations

from pathlib import Path

from memplan.solvers.core.build import build, is_built, library_of


def objects(folder: Path) -> dict[str, int]:
    """Return the modification time of each object file (ns), by its stem."""
    return {file.stem: file.stat().st_mtime_ns for file in folder.glob("built/objects/*.o")}


def test_the_build_recompiles_only_sources_that_include_a_changed_header(tmp_path: Path) -> None:
    folder = tmp_path / "a package" / "core"
    folder.mkdir(parents=True)
    (folder / "size.hpp").write_text("constexpr int kSize = 3;\n")
    (folder / "of size.cpp").write_text('#include "size.hpp"\nint size() { return kSize; }\n')
    (folder / "alone.cpp").write_text("int alone() { return 1; }\n")
    build(folder.parent)
    first, library = objects(folder), library_of(folder).read_bytes()
    assert is_built(folder)

    (folder / "size.hpp").write_text("constexpr int kSize = 4;\n")
    assert not is_built(folder)
    build(folder.parent)
    again = objects(folder)
    assert again["of size"] > first["of size"]
    assert again["alone"] == first["alone"]

    (folder / "size.hpp").write_text("constexpr int kSize = 3;\n")
    build(folder.parent)
    assert library_of(folder).read_bytes() == library
    build(folder.parent, flags=("-std=c++20", "-O0"))
    assert objects(folder)["alone"] > again["alone"]
