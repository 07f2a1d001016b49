"""Read broken models: `python -m lab.fuzz_importers tflite 100000` reads 100,000 broken files of one importer.

It stops at the first file that is neither read nor refused with a sentence, or that takes over 30 s or 4 GiB.

A broken file is a valid file with bytes cut out, flipped, spliced from another file, or with changed numbers. A seed
determines each file.
"""

import faulthandler
import io
import json
import random
import re
import struct
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from memplan.planner.errors import FormatError, InputError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import model_of_plan, read_format, read_plan_as
from memplan.planner.systems import file_readers
from memplan.planner.verify.verifier import verify
from tests.support.dump_files import DUMPS, MEMORIES, PACKS, dump_bytes, perceptron

MODELS = Path(__file__).parents[1] / "tests" / "models"
PLANNED = DUMPS / "wrong" / "onnxruntime-32466.onnx"
"""The model that is passed along with files that contain only a plan."""
_NUMBERS = (0, 1, 2, 3, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_HANGS_AFTER_S, _MOST_BYTES = 30, 4 << 30


def _onnx_files() -> list[bytes]:
    """Return three ONNX models with nested graphs: a branch, a loop and a scan."""
    from tests.runtimes import onnx_models

    return [onnx_models.choice(), onnx_models.loop(), onnx_models.scan()]


def _files_with_suffix(suffix: str) -> Callable[[], list[bytes]]:
    return lambda: [path.read_bytes() for path in sorted(MODELS.glob(f"*{suffix}"))]


def _change_program(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Return an exported PyTorch program (a ZIP archive) after applying `change` to the JSON inside."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(content) if name.endswith("models/model.json") else content)
    return out.getvalue()


def _set_sizes(program: bytes) -> bytes:
    return program.replace(b"Symbol('s77', positive=True, integer=True)", b"16")


SEEDS: Mapping[str, Callable[[], list[bytes]]] = {
    "tflite": _files_with_suffix(".tflite"),
    "executorch": _files_with_suffix(".pte"),
    "onnx": _onnx_files,
    "xla": lambda: dump_bytes("mlp_sgd.hlo.pb", "mlp_sgd.xla.txt"),
    "iree": lambda: [PACKS, *dump_bytes("bvlc_alexnet.iree.txt")],
    "stablehlo": lambda: [data.replace(b"?", b"8") for data in dump_bytes("recurrent.stablehlo.mlir")],
    "tvm": lambda: [perceptron()],
    "torch-export": lambda: [_change_program(data, _set_sizes) for data in _files_with_suffix(".pt2")()],
    "relax": lambda: dump_bytes("network_allocated.relax", "network_planned.relax"),
    "cadence": lambda: [MEMORIES],
    "ggml": lambda: [(MODELS / "ggml" / "lenet.json").read_bytes()],
    "litert-state": lambda: dump_bytes("wrong/litert-8889.txt"),
    "inductor": lambda: dump_bytes("wrong/pytorch-187678.py.txt"),
    "pto": lambda: dump_bytes("wrong/ptoas-545.pto", "wrong/ptoas-913.pto"),
    "tilelang": lambda: dump_bytes("wrong/tilelang-ascend-1765.tir"),
    "onnxruntime-plan": lambda: dump_bytes("wrong/onnxruntime-32466.txt", "wrong/onnxruntime-32611.txt"),
}
"""Maps each importer to a function that returns its valid files."""


def _break_onnx(data: bytes, chance: random.Random) -> bytes:
    """Return a well-formed ONNX model with randomly changed nodes, names, shapes or types."""
    from tests.runtimes import onnx_models

    return onnx_models.change_model(data, chance)


def _break_json(data: bytes, chance: random.Random) -> bytes:
    """Return valid JSON in which one to four values are changed, removed or repeated."""
    whole = json.loads(data)
    for _ in range(chance.randint(1, 4)):
        inside = whole
        while True:
            places = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
            if not places:
                break
            place = chance.choice(places)
            if inside[place] and isinstance(inside[place], dict | list) and chance.random() < 0.8:
                inside = inside[place]
                continue
            kind = chance.randrange(6)
            if kind == 0:
                del inside[place]
            elif kind == 1 and isinstance(inside, list):
                inside.insert(place, inside[place])
            else:
                inside[place] = chance.choice(
                    (None, True, -1, 0, 1, 3, 64, 2**40, 2**63, 1.5, "", "x", "global", [], {})
                )
            break
    return json.dumps(whole).encode()


def _break_lines(data: bytes, chance: random.Random) -> bytes:
    """Return a text in which one to four lines are removed, repeated, or mixed with words of other lines."""
    lines = data.splitlines(keepends=True)
    for _ in range(chance.randint(1, 4)):
        at, other = chance.randrange(len(lines)), chance.choice(lines)
        kind = chance.randrange(4)
        if kind == 0 and len(lines) > 1:
            del lines[at]
        elif kind == 1:
            lines.insert(at, other)
        else:
            words, others = re.split(rb"(\W)", lines[at]), re.split(rb"(\W)", other)
            words[chance.randrange(len(words))] = chance.choice(others)
            lines[at] = b"".join(words)
    return b"".join(lines)


INSIDE: Mapping[str, Callable[[bytes, random.Random], bytes]] = {
    "onnx": _break_onnx,
    "iree": _break_lines,
    "relax": _break_lines,
    "stablehlo": _break_lines,
    "tvm": _break_json,
    "torch-export": lambda data, chance: _change_program(data, lambda program: _break_json(program, chance)),
    "cadence": _break_json,
    **dict.fromkeys(("ggml", "litert-state", "inductor", "pto", "tilelang", "onnxruntime-plan"), _break_lines),
}
"""Maps an importer to a function that changes a file's content but keeps its syntax, unlike random bytes."""


def draw_faulty_file(name: str, seeds: Sequence[bytes], seed: int) -> bytes:
    """Return a valid file of the importer `name` with one to four random faults, which `seed` determines."""
    chance = random.Random(seed)
    if name in INSIDE and seed % 2:
        return INSIDE[name](chance.choice(seeds), chance)
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        at = chance.randrange(len(data)) if data else 0
        kind = chance.randrange(8)
        if kind == 0:
            del data[at:]
        elif kind == 1:
            del data[at : at + chance.randint(1, 16)]
        elif kind == 2:
            other = chance.choice(seeds)
            start = chance.randrange(len(other))
            data[at : at + chance.randint(0, 64)] = other[start : start + chance.randint(1, 64)]
        elif kind == 3:
            data[at:at] = data[at : at + chance.randint(1, 64)]
        elif kind <= 5 and data:
            data[at] ^= 1 << chance.randrange(8)
        else:
            width = chance.choice((1, 2, 4))
            at -= at % width
            value = chance.choice(_NUMBERS) if chance.random() < 0.5 else chance.randrange(1 << 12)
            data[at : at + width] = struct.pack("<Q", value)[:width]
    return bytes(data)


def outcome(name: str, data: bytes) -> str:
    """Read a file, and return "read", or the class of the error if memplan refuses the file with a sentence."""
    try:
        if file_readers()[name].of is None:
            model = read_format(name, data, ModelOptions())
        else:
            if model_of_plan(data) is None:
                raise FormatError("must have the heading of a plan")
            model = read_plan_as(data, PLANNED.read_bytes(), ModelOptions())
        if model.own_plan is not None:
            verify(model.problem, model.own_plan)
    except InputError as error:
        kind, sentences = type(error).__name__, error.sentences
    else:
        return "read"
    assert sentences
    assert all(sentence.isprintable() and len(sentence) < 2000 for sentence in sentences)
    return kind


def main(name: str, count: int, first: int = 0) -> None:
    """Read `count` broken files, from seed `first` on, and print how many were read or refused."""
    import resource  # Windows lacks this module, so import the module only here.

    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    seeds = SEEDS[name]()
    found: Counter[str] = Counter()
    for seed in range(first, first + count):
        faulthandler.dump_traceback_later(_HANGS_AFTER_S, exit=True)
        try:
            found[outcome(name, draw_faulty_file(name, seeds, seed))] += 1
        except BaseException:
            print(f"seed {seed}")
            raise
        if seed % 10_000 == 9_999:
            print(seed + 1, dict(found), flush=True)
    print(name, count, dict(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *map(int, sys.argv[3:4]))
