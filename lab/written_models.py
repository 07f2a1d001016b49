"""Measure models that are written in parts in TFLite Micro: `python -m lab.written_models [N] [FOLDER]`.

Run by hand, where tflite_micro and ai_edge_litert are installed. The first N of 20 models, then those of a folder. A
line for each: whether it was written, whether outputs are equal, and the whole arena that TFLite Micro measures. Exit
status 1 where something differs or is above the given model's.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lab.device_models import drawn_inputs, litert, micro
from memplan.capabilities.cascade.in_parts.write import rewritable
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.capabilities.cascade.search.solve import cascade
from memplan.capabilities.cascade.writing import written_in_parts
from memplan.systems.model_graph import read_model_graph
from memplan.systems.tflite.interpreter import measured
from tests.support import tflite_networks

_LIMIT_S = 10.0
_MACS = 1.25
TFLITE: tuple[tuple[str, int, int], ...] = (
    *(("vgg", 64, 8), ("mobilenet_v2", 96, 8), ("mobilenet_v1", 96, 8), ("vgg", 96, 8), ("mobilenet_v2", 128, 8)),
    *(("mobilenet_v1", 128, 8), ("mobilenet_v1", 160, 16), ("vgg", 128, 8), ("mobilenet_v2", 160, 8)),
    *(("mobilenet_v1", 48, 4), ("mobilenet_v2", 48, 4), ("vgg", 32, 4), ("mobilenet_v1", 192, 8), ("vgg", 161, 4)),
    *(("mobilenet_v2", 161, 8), ("mobilenet_v1", 97, 8), ("mobilenet_v1", 224, 16), ("mobilenet_v2", 224, 8)),
    *(("vgg", 192, 8), ("mobilenet_v2", 192, 16)),
)


def models() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield names of models, and what makes them."""
    for name, side, scale in TFLITE:
        yield f"{name} {side} x {scale}", partial(getattr(tflite_networks, name), side, scale)


def in_parts(data: bytes) -> tuple[bytes | None, str]:
    """Return a model in parts as `memplan cascade --write` does, None where nothing is gained; and what it says."""
    model = rewritable(data, None, read_model_graph(data).graph)
    options = CascadeOptions(macs=_MACS, channels=False)
    found = written_in_parts(model, cascade(model.access, options, time_limit_s=_LIMIT_S), data)
    return found.data, "; ".join(found.sentences)


def arena(data: bytes) -> int:
    """Return the whole arena that TFLite Micro measures."""
    said = measured(data, 1 << 26)
    found = re.search(r"tflite_micro: ([0-9,]+) bytes", said)
    assert found is not None, said
    return int(found[1].replace(",", ""))


def tflite_row(given: bytes, written: bytes) -> tuple[bool, str]:
    """Return whether a written model is right and not above the given one, and a line about both."""
    inputs, n_outputs = drawn_inputs(given)
    is_equal = micro(given, 1 << 26, inputs, n_outputs) == micro(written, 1 << 26, inputs, n_outputs)
    others: list[list[Any]] = [litert(data, inputs) for data in (given, written)]
    is_equal = is_equal and all(map(np.array_equal, *others))
    before, after = arena(given), arena(written)
    return is_equal and after <= before, f"equal {is_equal}; arena {after:,}, {after / before:.2f} of {before:,}"


def main(count: int = 99, folder: Path | None = None) -> int:
    """Print the rows; return the exit status."""
    rows = [*models()][:count]
    rows += [(path.name, path.read_bytes) for path in sorted(folder.glob("*.tflite"))] if folder else []
    wrong = gained = 0
    for name, made in rows:
        given = made()
        written, said = in_parts(given)
        if written is None:
            print(f"{name}: {said}", flush=True)
            continue
        is_right, line = tflite_row(given, written)
        gained, wrong = gained + 1, wrong + (not is_right)
        print(f"{name}: {line}{'' if is_right else ' WRONG'} ({said})", flush=True)
    print(f"{len(rows)} models, {gained} written, {wrong} differ or are above the given one")
    return 1 if wrong else 0


if __name__ == "__main__":
    told = sys.argv[1:]
    sys.exit(main(int(told[0]) if told else 99, Path(told[1]) if told[1:] else None))
