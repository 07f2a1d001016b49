"""C of a model: its bytes as an array, and the arena that TFLite Micro runs it in."""

from __future__ import annotations

from collections.abc import Mapping

from memplan.planner import __version__
from memplan.systems.c.arena import IN_SECTION, section_name
from memplan.systems.c_names import constant, guarded, include_of, prefix_of
from memplan.systems.tflite.tflm_arena import ALIGNMENT
from memplan.systems.tflite.tflm_tail import MicroArena

_PER_LINE = 16


def write_c_model(data: bytes, arena: MicroArena, stem: str, section: str | None = None) -> Mapping[str, bytes]:
    """Return a header and a source: the model, aligned to 16 bytes, and its arena, in a section of its own."""
    prefix = prefix_of(stem)
    macro = prefix.upper()
    said = f"/* Written by memplan {__version__}: a model and its arena for TFLite Micro. */\n"
    header = (
        f"#define {macro}_SIZE {constant(len(data))}\n"
        f"/* To start: {arena}, where pointers have 8 bytes; with 4 it needs less. */\n"
        f"#define {macro}_ARENA_SIZE {constant(arena.least)}\n"
        f"/* Of it, where the two lie in memories of their own. */\n"
        f"#define {macro}_HEAD_SIZE {constant(arena.least - arena.tail)}\n"
        f"#define {macro}_TAIL_SIZE {constant(arena.tail)}\n"
        f"extern const unsigned char {prefix}[{macro}_SIZE];\n"
        f"extern unsigned char {prefix}_arena[{macro}_ARENA_SIZE];\n"
    )
    rows = [data[k : k + _PER_LINE].hex(",", 1) for k in range(0, len(data), _PER_LINE)]
    array = "\n".join(f"    0x{row.replace(',', ',0x')}," for row in rows)
    return {
        ".h": f"{said}{guarded(header, prefix)}".encode(),
        ".c": (
            f"{said}{include_of(stem)}\n#include <limits.h>\n\n{IN_SECTION}\n"
            f'MEMPLAN_IN_SECTION("{section_name(prefix, "arena", section)}")\n'
            f"_Alignas({ALIGNMENT}) unsigned char {prefix}_arena[{macro}_ARENA_SIZE];\n\n"
            f"_Alignas({ALIGNMENT}) const unsigned char {prefix}[{macro}_SIZE] = {{\n{array}\n}};\n"
        ).encode(),
    }
