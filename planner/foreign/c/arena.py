"""Export to C: one static array per pool, and macros with the offset, size and address of each buffer.

Each C name joins a prefix, a word for its meaning, and the name of the buffer or pool, so that all names differ. The
source is C11. The header is valid C99 and C++, and its macros also work in preprocessed assembly.
"""

from collections.abc import Mapping
from math import gcd

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.foreign.arena import HOST, rules_of
from memplan.planner.foreign.c_names import (
    add_include_guard,
    comment_text,
    constant,
    include_of,
    origin_sentence,
    prefix_of,
)
from memplan.planner.foreign.layout import PlacedBuffer, PlacedPool, VerifiedLayout


def write_c(layout: VerifiedLayout, stem: str) -> Mapping[str, bytes]:
    """Return a C header and a C source by suffix; raises FormatError for a pool whose alignment C cannot express.

    A pool with a base address becomes one array per byte range between its reserved ranges. If buffers move, each piece
    has its macros, and a table has the copies.
    """
    layout.refuse_other_devices("c")
    layout = layout.split_into_regions()
    prefix = prefix_of(stem)
    arrays = [_array_definition(pool, prefix, layout.section) for pool in layout.used_pools]
    checks = [_static_assertion(buffer, layout.pools[buffer.pool], prefix.upper()) for buffer in layout.buffers]
    tables = [_copies_table(layout, prefix)] if layout.copies else []
    text = f"/* {origin_sentence(layout.problem)} */\n"
    includes = f"{include_of(stem)}\n#include <limits.h>\n"
    return {
        ".h": f"{text}{add_include_guard(_header_text(layout, prefix), prefix)}".encode(),
        ".c": "\n".join([f"{text}{includes}", IN_SECTION, "".join(arrays), "".join(checks), *tables]).encode(),
    }


def section_of(pool: PlacedPool, prefix: str) -> str:
    """Return the name of the linker section of a pool's array; linker scripts treat it as .bss by default."""
    return section_name(prefix, pool.name, None)


def section_name(prefix: str, what: str, section: str | None) -> str:
    """Return the given `section`, or else the name of a linker section that holds only the array `what`."""
    return section or f".bss.{prefix}_{what}"


IN_SECTION = """\
#if defined(__ELF__)
#define MEMPLAN_IN_SECTION(name) __attribute__((section(name)))
#else
#define MEMPLAN_IN_SECTION(name)
#endif

_Static_assert(CHAR_BIT == 8, "bytes of 8 bits");
"""


def _header_text(layout: VerifiedLayout, prefix: str) -> str:
    pools = "".join(_pool_macros(pool, prefix) for pool in layout.used_pools)
    pools += _runtime_macros(layout, prefix.upper())
    buffers = "".join(_buffer_macros(buffer, layout.pools[buffer.pool], prefix) for buffer in layout.buffers)
    return pools + buffers + (_copies_declaration(layout, prefix) if layout.copies else "")


def _pool_macros(pool: PlacedPool, prefix: str) -> str:
    macro = prefix.upper()
    return (
        f"/* Pool {comment_text(pool.pool.name)} */\n"
        f"#define {macro}_POOL_SIZE_{pool.name} {constant(max(pool.extent, 1))}\n"
        f"#define {macro}_POOL_BASE_{pool.name} 0x{pool.pool.base_address:x}u\n"
        f"extern unsigned char {prefix}_pool_{pool.name}[{macro}_POOL_SIZE_{pool.name}];\n\n"
    )


def _runtime_macros(layout: VerifiedLayout, macro: str) -> str:
    """Return macros with the bytes that the model's runtime needs in addition to the buffers; empty if unknown."""
    options, rules = layout.options, None if layout.model is None else rules_of(layout.model)
    if rules is None or layout.model is None or (options is not None and options.dims):
        return ""
    arena = rules.arena_of(layout.model, options)
    return (
        f"/* The runtime {arena.target or HOST}: its lasting data, and the most scratch of a kernel */\n"
        f"#define {macro}_RUNTIME_TAIL {constant(arena.tail)}\n"
        f"#define {macro}_RUNTIME_SCRATCH {constant(arena.scratch)}\n\n"
    )


def _buffer_macros(buffer: PlacedBuffer, pool: PlacedPool, prefix: str) -> str:
    macro = prefix.upper()
    return (
        f"/* Buffer {comment_text(buffer.id)} in pool {comment_text(pool.pool.name)} */\n"
        f"#define {macro}_OFFSET_{buffer.name} {constant(buffer.offset)}\n"
        f"#define {macro}_SIZE_{buffer.name} {constant(buffer.size)}\n"
        f"#define {macro}_ALIGNMENT_{buffer.name} {constant(buffer.alignment)}\n"
        f"#define {macro}_ADDRESS_{buffer.name} ({prefix}_pool_{pool.name} + {macro}_OFFSET_{buffer.name})\n\n"
    )


def _copies_declaration(layout: VerifiedLayout, prefix: str) -> str:
    return (
        f"/* A copy of `bytes` bytes that begins at the time step `time`: before the operation of that step,\n"
        f"   or after it if `is_after` is 1. */\n"
        f"struct {prefix}_copy {{\n    long long time;\n    int is_after;\n    const unsigned char *from;\n"
        f"    unsigned char *to;\n    unsigned long long bytes;\n}};\n"
        f"#define {prefix.upper()}_COPIES {constant(len(layout.copies))}\n"
        f"extern const struct {prefix}_copy {prefix}_copies[{prefix.upper()}_COPIES];\n\n"
    )


def _copies_table(layout: VerifiedLayout, prefix: str) -> str:
    address = f"{prefix.upper()}_ADDRESS_"
    rows = [
        f"    {{{copy.time}, {int(copy.is_late)}, {address}{layout.buffers[copy.source].name},"
        f" {address}{layout.buffers[copy.to].name}, {constant(copy.size)}}}, /* {comment_text(copy.id)} */\n"
        for copy in layout.copies
    ]
    return f"const struct {prefix}_copy {prefix}_copies[{prefix.upper()}_COPIES] = {{\n{''.join(rows)}}};\n"


def _array_definition(pool: PlacedPool, prefix: str, section: str | None) -> str:
    """Return the C definition of a pool's array; raises FormatError if C cannot express the array's alignment."""
    size = f"{prefix.upper()}_POOL_SIZE_{pool.name}"
    alignment, base = pool.alignment, pool.pool.base_address
    place = ""
    # C aligns only to powers of two; at a known base address, a linker script can place the array instead.
    if pool.exceeds_c_alignment:
        if not pool.has_address:
            rule = "must be a power of two for C without a base_address"
            raise FormatError(f"pool {excerpt(pool.pool.name)}: common alignment {rule}, got {alignment}")
        # Linkers can place an array at the base address only if the array's alignment divides that address.
        alignment = gcd(base, alignment) & -gcd(base, alignment)  # C allows only powers of two.
        place = f"/* Must lie at its base address, 0x{base:x}: let a linker script see to that. */\n"
    return (
        f'{place}MEMPLAN_IN_SECTION("{section_name(prefix, pool.name, section)}")\n'
        f"_Alignas({alignment}) unsigned char {prefix}_pool_{pool.name}[{size}];\n"
    )


def _static_assertion(buffer: PlacedBuffer, pool: PlacedPool, macro: str) -> str:
    # The constant 0ull widens the sums, which would otherwise overflow an int of 16 or 32 bits.
    offset, base = f"{macro}_OFFSET_{buffer.name}", f"{macro}_POOL_BASE_{pool.name}"
    fits = f"0ull + {offset} + {macro}_SIZE_{buffer.name} <= {macro}_POOL_SIZE_{pool.name}"
    is_aligned = f"(0ull + {base} + {offset}) % {macro}_ALIGNMENT_{buffer.name} == 0"
    return f'_Static_assert({fits}\n               && {is_aligned},\n               "{buffer.name}");\n'
