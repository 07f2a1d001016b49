"""Compare computed arena sizes with the minimum that TFLite Micro needs: `[COUNT [SEED]] [FILE ...]`.

The models are the given files, or random: for every known operator in int8 and in float32 some on an input of 2 to 40
bytes, and COUNT with two or three operators. The runtime of PyPI's `tflite_micro` must start each model in the computed
arena, but not in 16 bytes less. `--target` and `--device` name another processor and the command of its runtime, which
reads the bytes of a model and of an arena (4 bytes each) and the model, and answers with byte 1 if the model starts.
The minimum arena is searched in steps of 16 bytes. If some kernels of a model are unknown, the computed arena is
only a lower bound: the model must not start in a smaller one. The runtime does not notice kernel data that overlaps
tensors in use; models that start in a smaller arena for this reason are counted separately.
"""

import argparse
import random
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from pathlib import Path

from memplan.planner.errors import InputError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.runtimes.tflite.model import read_model
from memplan.runtimes.tflite.tflm_arena import model_for_options
from memplan.runtimes.tflite.tflm_tail import arena_of, arena_space
from tests.runtimes.micro_models import FLOAT_ONLY, LAYERS, MicroModel

_STEP, _MOST_STEPS = 16, 256
_TINY_EACH = 5
"""The number of tiny models of each operator and type."""
_TINY = [(rows, columns, depth) for rows in (1, 2, 3, 4) for columns in (1, 2, 3, 5) for depth in (2, 4, 6)]
_CHILD = """
import os, struct, sys
ask, answer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
silent = os.open(os.devnull, os.O_WRONLY)
os.dup2(silent, 1)
os.dup2(silent, 2)
from tflite_micro import runtime
while head := ask.read(8):
    n, size = struct.unpack("<ii", head)
    data = ask.read(n)
    try:
        runtime.Interpreter.from_bytes(data, arena_size=size)
        starts = 1
    except RuntimeError:
        starts = 0
    answer.write(bytes([starts]))
    answer.flush()
"""


class Device:
    """TFLite Micro in a separate process; a model that crashes the process counts as not started."""

    def __init__(self, command: Sequence[str] = (sys.executable, "-P", "-c", _CHILD)) -> None:
        """Store the runtime's command; the first model starts its process."""
        self.command = command
        self.process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """Close the input of the process, and wait until the process ends."""
        if self.process is not None:
            self.process.communicate()
            self.process = None

    def starts(self, data: bytes, size: int) -> bool:
        """Return True if the runtime starts a model in an arena of `size` bytes."""
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(len(data).to_bytes(4, "little") + size.to_bytes(4, "little") + data)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self.process.stdout.read(1)
        if not answer:
            self.close()
        return answer == b"\1"

    def measure_arena(self, data: bytes, said: int) -> int | None:
        """Return the least arena in bytes, searched upwards from `said`; None if a model needs over 4 KiB more."""
        size = said
        if self.starts(data, size):
            while size > _STEP and said - size < _MOST_STEPS * _STEP and self.starts(data, size - _STEP):
                size -= _STEP
            return size
        if not self.starts(data, said + (4 << 20)):
            return None
        while size < said + _MOST_STEPS * _STEP:
            size += _STEP
            if self.starts(data, size):
                return size
        return size


def draw_models(count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield (name, bytes) of random models: tiny ones of each operator, then `count` with two or three operators."""
    draw = random.Random(seed)
    kinds = {True: sorted(LAYERS.keys() - FLOAT_ONLY), False: sorted(LAYERS)}
    alone = [(is_int8, [name]) for is_int8, names in kinds.items() for name in names] * _TINY_EACH
    several = [(is_int8, draw.choices(kinds[is_int8], k=2 + k % 2)) for k in range(count) for is_int8 in [k % 4 < 2]]
    for k, (is_int8, names) in enumerate([*alone, *several]):
        rows, most = draw.choice((1, 2, 3, 4, 6)), 40 if is_int8 else 10
        shape = rows, rows, draw.choice((2, 4, 6))
        if len(names) == 1:
            shape = draw.choice([each for each in _TINY if prod(each) <= most])
        model = MicroModel((1, *shape), is_int8=is_int8, seed=seed + k)
        try:
            for name in names:
                model.at = LAYERS[name](model, name)
            yield f"{'int8' if is_int8 else 'float32'} {'+'.join(names)} {seed + k}", model.data()
        except (ValueError, IndexError):  # An operator needs a larger input image, so skip this model.
            continue


def judge_models(
    models: Iterable[tuple[str, bytes]], tally: Counter[str], device: Device | None = None, target: str | None = None
) -> Iterator[str]:
    """Yield a line for each model whose computed arena size is wrong, and count the outcomes in `tally`."""
    device, options = device or Device(), ModelOptions(target=target)
    for name, data in models:
        try:
            arena = arena_of(data, options)
        except InputError:
            tally["not read"] += 1
            continue
        found = device.measure_arena(data, arena.least)
        if found is None:
            word = "refused by both" if arena.unknown else "starts in no arena"
        elif arena.unknown:
            word = "at least, and is" if found >= arena.least else "said to be at least more than it takes"
        elif arena_space(model_for_options(read_model(data), options), arena.head).unguarded <= found < arena.least:
            word = "exact, less overlaps"
        else:
            word = "exact" if found == arena.least else "too small" if found > arena.least else "too large"
        tally[word] += 1
        if word not in ("exact", "exact, less overlaps", "at least, and is", "refused by both"):
            yield f"{name}: {word}: said {arena.least:,}, takes {found}"
    device.close()


def _files(paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield (name, bytes) of each given model file, and of each model in the given folders."""
    for path in paths:
        for file in sorted(path.rglob("*.tflite")) if path.is_dir() else [path]:
            yield str(file), file.read_bytes()


def main() -> int:
    """Compare the given model files, or random models if none is given; return 1 if an arena size is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*")
    parser.add_argument("--target")
    parser.add_argument("--device", help="the command of another runtime, such as 'qemu-arm-static ./runtime'")
    options = parser.parse_args()
    given, device = options.what, Device(shlex.split(options.device)) if options.device else Device()
    numbers = [int(word) for word in given if word.isdecimal()]
    paths = [Path(word) for word in given if not word.isdecimal()]
    tally: Counter[str] = Counter()
    count, seed = (*numbers, 300, 0)[:2] if len(numbers) < 2 else numbers[:2]
    models = _files(paths) if paths else draw_models(count, seed if len(numbers) > 1 else 0)
    for line in judge_models(models, tally, device, options.target):
        print(line, flush=True)
    print(", ".join(f"{word} {n}" for word, n in sorted(tally.items())))
    return int(any(tally[word] for word in ("too small", "too large", "starts in no arena")))


if __name__ == "__main__":
    sys.exit(main())
