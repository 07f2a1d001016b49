"""Export to C with malloc: macros of offsets, and functions that allocate a set of heap blocks, one per pool."""

from collections.abc import Mapping, Sequence

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.foreign.c_names import (
    add_include_guard,
    comment_text,
    constant,
    include_of,
    origin_sentence,
    prefix_of,
)
from memplan.planner.foreign.layout import PlacedPool, VerifiedLayout


def write_malloc_c(layout: VerifiedLayout, stem: str) -> Mapping[str, bytes]:
    """Return a C header and a C source, each by its suffix.

    Raises FormatError for a pool that is not on the CPU, or whose plan is not valid at every address that
    `aligned_alloc` may return.
    """
    layout.refuse_other_devices("malloc-c")
    prefix = prefix_of(stem)
    for pool in layout.used_pools:
        if pool.exceeds_c_alignment:
            rule = (
                "the alignment must be a power of two that divides base_address, since aligned_alloc picks the address"
            )
            name, base = excerpt(pool.pool.name), pool.pool.base_address
            raise FormatError(f"pool {name}: {rule}, got alignment {pool.alignment} and base_address {base}")
    text = f"/* {origin_sentence(layout.problem)} */\n"
    return {
        ".h": f"{text}{add_include_guard(_header_text(layout, prefix), prefix)}".encode(),
        ".c": f"{text}{include_of(stem)}\n#include <stdlib.h>\n\n{_functions_text(layout.used_pools, prefix)}".encode(),
    }


def _header_text(layout: VerifiedLayout, prefix: str) -> str:
    """Return the header's text: a structure of pools, two function declarations, and the macros of buffers."""
    macro = prefix.upper()
    # C has no empty structures, so a structure without pools gets the member `none`.
    # A pool's name may be a keyword or begin with a digit, so each member gets the prefix `pool_`.
    members = [
        f"    unsigned char *pool_{pool.name}; /* {comment_text(pool.pool.name)} */" for pool in layout.used_pools
    ]
    lines = [f"struct {prefix}_pools {{", *(members or ["    unsigned char *none;"]), "};", ""]
    lines += [
        "/* Allocates all pools: 0 where that is done, -1 where memory is short, and then none is. */",
        f"int {prefix}_allocate(struct {prefix}_pools *pools);",
        f"void {prefix}_free(struct {prefix}_pools *pools);",
        "",
    ]
    for buffer in layout.buffers:
        pool = layout.pools[buffer.pool].name
        lines += [
            f"/* Buffer {comment_text(buffer.id)} */",
            f"#define {macro}_OFFSET_{buffer.name} {constant(buffer.offset)}",
            f"#define {macro}_SIZE_{buffer.name} {constant(buffer.size)}",
            f"#define {macro}_ADDRESS_{buffer.name}(pools) ((pools)->pool_{pool} + {macro}_OFFSET_{buffer.name})",
            "",
        ]
    return "\n".join(lines)


def _functions_text(pools: Sequence[PlacedPool], prefix: str) -> str:
    """Return the text of the C functions that allocate and free all pools."""
    members = [f"pool_{pool.name}" for pool in pools] or ["none"]
    allocations = [
        f"    pools->{member} = aligned_alloc({constant(_block_alignment(pool))}, {constant(_block_bytes(pool))});"
        for member, pool in zip(members, pools, strict=False)
    ]
    is_short = " || ".join(f"!pools->pool_{pool.name}" for pool in pools) or "0"
    return "\n".join(
        [
            f"int {prefix}_allocate(struct {prefix}_pools *pools)",
            "{",
            *(allocations or ["    pools->none = NULL;"]),
            f"    if ({is_short}) {{",
            f"        {prefix}_free(pools);",
            "        return -1;",
            "    }",
            "    return 0;",
            "}",
            "",
            f"void {prefix}_free(struct {prefix}_pools *pools)",
            "{",
            *(f"    free(pools->{member});\n    pools->{member} = NULL;" for member in members),
            "}",
            "",
        ]
    )


def _block_alignment(pool: PlacedPool) -> int:
    """Return the alignment of a pool's block: at least 16, because some libraries refuse less than a pointer's size."""
    return max(pool.alignment, 16)


def _block_bytes(pool: PlacedPool) -> int:
    return max(-(-pool.extent // _block_alignment(pool)), 1) * _block_alignment(pool)
