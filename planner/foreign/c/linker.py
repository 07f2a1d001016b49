"""Export to linker scripts: one memory region per pool at its base address, to hold the pool's array of the C source.

Sources: the manuals of GNU ld (MEMORY, output sections, INCLUDE) and of Arm's scatter files (execution regions,
UNINIT).
"""

from collections.abc import Mapping

from memplan.planner.errors import FormatError, Option, excerpt
from memplan.planner.foreign.c.arena import section_of
from memplan.planner.foreign.c_names import comment_text, origin_sentence, prefix_of
from memplan.planner.foreign.layout import PlacedPool, VerifiedLayout


def write_ld(layout: VerifiedLayout, stem: str) -> Mapping[str, bytes]:
    """Return a script for GNU ld, to be included before .bss, with one symbol per pool and buffer.

    Each used byte range of a pool between its reserved ranges becomes a memory region. Raises FormatError if a pool has
    no base address, or if address ranges of pools overlap.
    """
    layout = _region_layout(layout)
    prefix = prefix_of(stem)
    pools = layout.used_pools
    regions = [
        f"  {prefix}_{pool.name} : ORIGIN = 0x{pool.pool.base_address:x}, LENGTH = 0x{_region_length(pool):x}"
        f" /* {comment_text(pool.pool.name)} */"
        for pool in pools
    ]
    symbols = [
        f"  {prefix}_buffer_{buffer.name} = 0x{layout.pools[buffer.pool].pool.base_address + buffer.offset:x};"
        f" /* {comment_text(buffer.id)}, {buffer.size} bytes */"
        for buffer in layout.buffers
    ]
    lines = [f"/* {origin_sentence(layout.problem)} */", "MEMORY", "{", *regions, "}", "SECTIONS", "{"]
    for pool in pools:
        lines += _output_section(pool, prefix)
    return {"": "\n".join([*lines, *symbols, "}", ""]).encode()}


def _output_section(pool: PlacedPool, prefix: str) -> list[str]:
    """Return the script lines of an output section that places a pool's array at the pool's base address."""
    name = f"{prefix}_{pool.name}"
    return [
        f"  .{name} 0x{pool.pool.base_address:x} (NOLOAD) :",
        "  {",
        f"    PROVIDE({prefix}_pool_{pool.name} = .);",
        f"    KEEP(*({section_of(pool, prefix)}))",
        f"    . = 0x{max(pool.extent, 1):x};",
        f"  }} > {name}",
    ]


def write_scatter(layout: VerifiedLayout, stem: str) -> Mapping[str, bytes]:
    """Return execution regions for armlink, to be included in a load region of a scatter file.

    Raises FormatError if a pool has no base address, or if address ranges of pools overlap.
    """
    layout = _region_layout(layout)
    prefix = prefix_of(stem)
    lines = [f"; {origin_sentence(layout.problem)}"]
    for pool in layout.used_pools:
        lines += [
            f"; {comment_text(pool.pool.name)}",
            f"{prefix}_{pool.name} 0x{pool.pool.base_address:x} UNINIT 0x{_region_length(pool):x}",
            "{",
            f"  * ({section_of(pool, prefix)})",
            "}",
        ]
    return {"": "\n".join([*lines, ""]).encode()}


def _region_length(pool: PlacedPool) -> int:
    return max(pool.extent if pool.pool.size is None else pool.pool.size, 1)


def _region_layout(layout: VerifiedLayout) -> VerifiedLayout:
    """Return the layout with pools split at reserved ranges; raises FormatError if a pool has no base address."""
    for pool in layout.used_pools:
        if not pool.has_address:
            name = pool.pool.name
            rule = f"pool {excerpt(name)}: base_address must be given for a linker script, such as "
            raise FormatError((rule, Option("capacity", f"{name}=128KiB@0x20000000"), ", got none"))
    return layout.split_into_regions()
