"""Read small files made to expand: `python -m lab.fuzz_expansion 2000` gives files of at most 4 KB to `memplan plan`.

It stops at the first file that takes over 512 MiB, is late by over half a second, or is refused without a
sentence. A seed determines each file, which its format's drawing makes of large counts, offsets that lead to one place,
nesting, repeats, and references to itself.
"""

import io
import os
import random
import re
import struct
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from lab.fuzz_importers import SEEDS

MOST_FILE, MOST_BYTES, LIMIT_S, LATE_S = 4096, 512 << 20, 2.0, 0.5
_LARGE = (0, 1, 2, 255, 1000, 65_535, 10**6, 2**31 - 1, 2**31, 2**32 - 1, 10**12, 2**62, 2**63 - 1, 2**64 - 1)
_PRE = b"\x80\x04}(X\x08\0\0\0segments]X\x0d\0\0\0device_traces]"
_EVENT = b"}(X\x06\0\0\0actionX\x05\0\0\0allocX\x04\0\0\0addrJ\0\0\0\x10X\x04\0\0\0sizeJ\0\x02\0\0u"


class Reading(NamedTuple):
    """What a command did with a file: its exit status and sentences, its seconds, and its peak of memory in bytes.

    As its time limit does, the seconds count the lesser of wall time and CPU time, for a busy machine. The limit counts
    from the reading of the file, so the start of a command is not late.
    """

    status: int
    said: str
    time_s: float
    peak: int

    @property
    def fault(self) -> str | None:
        """Why this is not as a stranger's file is to be treated; None if it is."""
        if self.peak > MOST_BYTES:
            return f"{self.peak >> 20} MiB"
        if self.time_s > _start_time_s() + LIMIT_S + LATE_S:
            return f"{self.time_s:.2f} s"
        wrong = [line for line in self.said.splitlines() if "error: " in line]
        is_right = self.status in (0, 1) or (self.status == 2 and wrong and len(self.said) < 30_000)
        return None if is_right else f"status {self.status}: {self.said[-300:]}"


def read_apart(
    data: bytes, name: str = "file", command: Sequence[str] = ("plan", "--time-limit", f"{LIMIT_S}")
) -> Reading:
    """Run a command on a file in a fork of this process, and return the measured reading."""
    from memplan.api.cli.main import main

    with tempfile.TemporaryDirectory() as folder, Path(folder, "said").open("w+b") as said:
        path = Path(folder, name)
        path.write_bytes(data)
        began = time.monotonic()
        if (pid := os.fork()) == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(said.fileno(), 2)
            sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
            sys.argv = ["memplan", *command, str(path)]
            os._exit(main())
        _, status, usage = os.wait4(pid, 0)
        time_s = min(time.monotonic() - began, usage.ru_utime + usage.ru_stime)
        said.seek(0)
        text = said.read().decode(errors="replace")
    return Reading(os.waitstatus_to_exitcode(status), text, time_s, usage.ru_maxrss << 10)


@cache
def _start_time_s() -> float:
    return read_apart(b"id,lower,upper,size\na,0,1,4\n", "problem.csv").time_s


def _draw_text(name: str) -> Callable[[random.Random], bytes]:
    """Return the drawing of files of a text format, from the beginnings of its valid files."""

    def draw(chance: random.Random) -> bytes:
        data = chance.choice(_seeds(name))[: chance.choice((400, 1000, 2000, MOST_FILE))]
        for _ in range(chance.randint(1, 6)):
            numbers, lines = list(re.finditer(rb"\d+", data)), data.splitlines(keepends=True)
            kind = chance.randrange(4)
            if kind <= 1 and numbers:
                number = chance.choice(numbers)
                data = data[: number.start()] + str(chance.choice(_LARGE)).encode() + data[number.end() :]
            elif kind == 2 and lines:
                at, many = chance.randrange(len(lines)), chance.choice((2, 30, 1000))
                data = b"".join((*lines[:at], *lines[at : at + chance.randint(1, 4)] * many, *lines[at:]))
            elif opened := [at for at, byte in enumerate(data) if byte in b"([{<"]:
                at = chance.choice(opened)
                data = data[:at] + data[at : at + 1] * chance.choice((2, 200, 3000)) + data[at:]
            data = data[:MOST_FILE]
        return data

    return draw


def _draw_doubled(chance: random.Random) -> bytes:
    """Return StableHLO whose functions call others several times, down to a small one, or themselves."""
    fan, least = chance.randint(1, 4), chance.choice((1, 1, 1, 0))
    depth = chance.randint(2, 3800 // (100 + 64 * fan))
    kind = f"tensor<{chance.choice((4, 2**20, 2**40))}xf32>"
    add = f"  %b = stablehlo.add %a, %a : {kind}\n  return %b : {kind}\n"
    parts = [f"module @m {{\n func.func private @f0(%a: {kind}) -> {kind} {{\n{add} }}\n"]
    for k in range(1, depth + 1):
        head = f" func.func {'public @main' if k == depth else f'private @f{k}'}(%v0: {kind}) -> {kind} {{\n"
        called = (max(0, k - chance.randint(least, 2 * least)) for _ in range(fan))
        calls = (f"  %v{j + 1} = call @f{c}(%v{j}) : ({kind}) -> {kind}\n" for j, c in enumerate(called))
        parts.append(f"{head}{''.join(calls)}  return %v{fan} : {kind}\n }}\n")
    return ("".join(parts) + "}\n").encode()


def _draw_onnx(chance: random.Random) -> bytes:
    """Return an ONNX model of nested functions, graphs, trips and computed shapes."""
    from onnx import TensorProto, helper

    from tests.runtimes import onnx_models as m

    depth, fan = chance.randint(1, 20), chance.randint(1, 5)
    large = chance.choice(_LARGE[:-1])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    size = chance.choice((1, 500))
    content = helper.make_tensor("c", TensorProto.FLOAT, [size], bytes(4 * size), raw=True)
    body = [helper.make_node("Constant", [], ["c"], value=content), helper.make_node("Add", ["x", "c"], ["y"])]
    functions = [helper.make_function("own", "f0", ["x"], ["y"], body, opsets)]
    for k in range(1, depth):
        names = ["x", *(f"t{j}" for j in range(fan - 1)), "y"]
        calls = [helper.make_node(f"f{k - 1}", [a], [b], domain="own") for a, b in pairwise(names)]
        functions.append(helper.make_function("own", f"f{k}", ["x"], ["y"], calls, opsets))
    graph = m.graph([m.node("Relu", "a", "e0")], [], [m.value("e0", (4,))])
    for k in range(1, chance.choice((1, 2, 8))):
        nodes = [m.node("If", "q", f"e{k}", then_branch=graph, else_branch=graph)]
        graph = m.graph(nodes, [], [m.value(f"e{k}", (4,))])
    steps = [m.node("Neg", f"x{k}", f"x{k + 1}") for k in range(fan)]
    trip = m.graph(
        [m.node("Identity", "c", "c2"), *steps, m.node("Neg", "x0", "s")],
        [m.value("i", (), 7), m.value("c", (), 9), m.value("x0", (4,))],
        [m.value("c2", (), 9), m.value(f"x{fan}", (4,)), m.value("s", (4,))],
    )  # fmt: skip
    ways = [
        helper.make_node(f"f{depth - 1}", ["a"], ["b"], domain="own"),
        m.node("If", "q", "b", then_branch=graph, else_branch=graph),
        m.node("Loop", "n - a", "b z", body=trip),
        *(m.node(op, "a k", "b") for op in ("Expand", "Tile", "Reshape", "Gather")),
        *(m.node(op, "k", "b") for op in ("ConstantOfShape", "NonZero")),
        m.node("Range", "n n n", "b"),
    ]
    nodes = [chance.choice(ways)] if chance.random() < 0.5 else [*chance.sample(ways, 2)]
    for place, each in enumerate(nodes[1:]):
        each.output[0] = f"b{place}"
    import numpy as np

    fill = {
        "k": np.array([min(large, 2**62)] * chance.choice((1, 3)), np.int64),
        "n": np.array(min(large, 2**62), np.int64),
    }
    dims = [chance.choice((1, 4, large % 2**62)) for _ in range(chance.choice((1, 2, 60)))]
    made = m.graph(
        nodes, [m.value("a", dims), m.value("q", (), 9)], [m.value("b", chance.choice((None, (4,))))], **fill
    )
    return m.model_bytes(made, functions=functions)[:MOST_FILE]


def _draw_flatbuffer(name: str) -> Callable[[random.Random], bytes]:
    """Return the drawing of FlatBuffers whose offsets and lengths, or what may be any, lead elsewhere."""

    def draw(chance: random.Random) -> bytes:
        seed = chance.choice([data for data in _seeds(name) if len(data) <= MOST_FILE])
        data, words = bytearray(seed), struct.unpack(f"<{len(seed) // 4}I", seed[: len(seed) // 4 * 4])
        found = [4 * k for k, word in enumerate(words) if 0 < word < len(seed) - 4 * k]
        for _ in range(chance.choice((1, 1, 2, 3, 8))):
            at = chance.choice(found)
            other = chance.choice([each for each in found if each > at] or found)
            target = other + struct.unpack_from("<I", seed, other)[0]
            count = struct.unpack_from("<I", seed, other)[0]
            values = (target - at, target - at, count, count, 4, len(seed) // 8, chance.choice(_LARGE))
            struct.pack_into("<I", data, at, chance.choice(values) % 2**32)
        if chance.random() < 0.3:  # A long list of one table in place of a list, behind which it lies.
            at, many = chance.choice(found), (MOST_FILE - len(data)) // 4 - 2
            data += struct.pack(f"<{many + 1}I", many, *[chance.choice((4, 2**32 - 400, 8))] * many)
            struct.pack_into("<I", data, at, len(seed) - at)
        return bytes(data[:MOST_FILE])

    return draw


def _draw_pickle(chance: random.Random) -> bytes:
    """Return a pickle of a snapshot whose parts are shared, doubled, nested or said to be large."""
    number = struct.pack("<I", chance.choice(_LARGE) % 2**32)
    parts = (
        b"]r" + number, b"X" + number + b"abc", b"\x96" + number + bytes(4), b"\x8e" + number + bytes(4), b"j" + number,
        b"}q\0(" + _EVENT + b"q\1h\1u", b"](" + b"h\1" * 900 + b"e", b"K\1" + b"2\x86" * chance.randint(1, 60),
        b"](" + _EVENT * 20 + b"eq\1", b"](" + _EVENT + b"q\1" + b"h\1" * 900 + b"eq\2", b"h\2", b"h\1", b"0", b"s",
        b"u", b"a", b"e", b"(", b"]", b"}", b"\x8f", b"\x8a\xff" + b"\x7f" * 255, b"]q\1(h\1h\1h\1e", b"\x86" * 3, b"t",
        b"l", b"d", b"]" * 900 + b"a" * 899, b"(" + b"h\1" * 500 + b"d", b"](" + b"](h\1h\1eq\1" * 60,
    )  # fmt: skip
    inside = b"".join(chance.choice(parts) for _ in range(chance.choice((0, 1, 1, 2, 2, 3, 12))))
    if chance.random() < 0.7:  # The value of a field of an event, which is shared by all that follow.
        names = (b"frames", b"pool_id", b"action", b"stream", b"user_metadata", b"size", b"time_us")
        name = chance.choice(names)
        field = b"X" + struct.pack("<I", len(name)) + name + (inside or b"](" + b"]" * 9 + b"e")
        inside = b"](" + _EVENT[:-1] + field[: MOST_FILE - 400] + b"u" + b"q\3" + _EVENT * chance.choice((0, 3)) + b"e"
    return (_PRE + b"(" + inside)[: MOST_FILE - 4] + chance.choice((b"eu.", b"eu.", b"eu.", b"u.", b"."))


def _draw_archive(chance: random.Random) -> bytes:
    """Return an archive of a program that is larger than it says, or whose JSON repeats."""
    (seed,) = _seeds("torch-export")
    with zipfile.ZipFile(io.BytesIO(seed)) as old:
        (name,) = [each for each in old.namelist() if each.endswith("models/model.json")]
        program = re.sub(rb'"metadata": {[^{}]*}, ', b"", old.read(name))
    parts = (b" ", b"[", b"{},", b'{"a":', b'[["', b"1,", b"9", b'"a":1,', program[200:300])
    at, many = chance.randrange(len(program)), chance.choice((1, 1000, 10**6, 2 * 10**6))
    part = chance.choice(parts)
    program = program[:at] + part * (many // len(part)) + program[at:]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        new.writestr(name.replace("models/model.json", "archive_format"), b"pt2")
        new.writestr(name, _draw_text("torch-export")(chance) if chance.random() < 0.1 else program)
    data = bytearray(out.getvalue())
    if chance.random() < 0.5:
        at = data.rfind(b"PK\1\2")
        struct.pack_into("<I", data, at + 24, chance.choice(_LARGE) % 2**32)
    return bytes(data)


@cache
def _seeds(name: str) -> list[bytes]:
    return SEEDS[name]()


DRAWINGS: Mapping[str, Callable[[random.Random], bytes]] = {
    **{name: _draw_text(name) for name in SEEDS if name not in ("onnx", "tflite", "executorch", "torch-export")},
    "doubled": _draw_doubled,
    "onnx": _draw_onnx,
    "tflite": _draw_flatbuffer("tflite"),
    "executorch": _draw_flatbuffer("executorch"),
    "torch-export": _draw_archive,
    "torch-snapshot": _draw_pickle,
}
"""Maps a format to the drawing of one file."""


def main(count: int, first: int = 0) -> None:
    """Read `count` files, of all formats in turn, and print the largest memory and delay."""
    statuses, most, names = Counter[int](), (0, 0.0), list(DRAWINGS)
    for seed in range(first, first + count):
        name = names[seed % len(names)]
        found = read_apart(DRAWINGS[name](random.Random(seed)))
        if found.fault is not None:
            sys.exit(f"{name}, seed {seed}: {found.fault}")
        statuses[found.status] += 1
        most = max(most[0], found.peak), max(most[1], found.time_s)
    print(f"{count} files, statuses {dict(statuses)}, at most {most[0] >> 20} MiB and {most[1]:.2f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
