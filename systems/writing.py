"""Plans as C, linkers, and other systems' runtimes take them.

An exporter takes a layout, which exists for verified plans only, and the name of the file without its suffix; it gives
the bytes of files by suffix, "" for the one file that is requested by its whole name. Nothing here opens a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memplan.systems.c.arena import write_c
from memplan.systems.c.linker import write_ld, write_scatter
from memplan.systems.c.malloc import write_malloc_c
from memplan.systems.executorch.pte import write_pte
from memplan.systems.layout import VerifiedLayout
from memplan.systems.lists import write_executorch, write_mlf, write_triples
from memplan.systems.tflite.tflm import write_buffer_plan, write_tflm
from memplan.systems.traces import write_perfetto, write_snapshot

Exporter = Callable[[VerifiedLayout, str], Mapping[str, bytes]]

EXPORTERS: Mapping[str, Exporter] = {
    "c": write_c,
    "malloc-c": write_malloc_c,
    "ld": write_ld,
    "armlink": write_scatter,
    "tflm": write_tflm,
    "buffer-plan": write_buffer_plan,
    "mlf": write_mlf,
    "executorch": write_executorch,
    "pte": write_pte,
    "triples": write_triples,
    "perfetto": write_perfetto,
    "torch-snapshot": write_snapshot,
}
"""The targets that a plan can be exported to; `memplan convert` and `memplan plan` write tables."""
