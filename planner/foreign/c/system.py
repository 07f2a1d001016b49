"""The table row of the system "C and linkers": exports of plans as C, linker scripts and a plain list."""

from memplan.planner.systems import System

SYSTEM = System(
    name="c",
    title="C and linkers",
    writers={
        "c": "memplan.planner.foreign.c.arena:write_c",
        "malloc-c": "memplan.planner.foreign.c.malloc:write_malloc_c",
        "ld": "memplan.planner.foreign.c.linker:write_ld",
        "armlink": "memplan.planner.foreign.c.linker:write_scatter",
        "triples": "memplan.planner.foreign.lists:write_triples",
    },
    other_targets={
        "c": "h header cpp c++ arduino stm32 zephyr esp-idf rust",
        "ld": "gnu gcc linker lds",
        "armlink": "scatter sct keil arm",
    },
)
