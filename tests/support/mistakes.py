"""Mistakes that users make on each entrance, and the rubric that scores the error messages.

An answer has a point for each of five rules, 0 to 5 in all:

1. It refuses: a status that says so, one or a few sentences, no traceback, nothing written.
2. Where: it names the file, and the row, the field, the line or the option.
3. Value: it repeats the given value as written.
4. Rule: it names the broken rule.
5. Remedy: a value, an option or a command to write instead. A bound alone is no remedy.

A rule is met if the answer has the words in the mistake's row; a row without words for a rule does not meet it. The
rows are in `mistakes.txt`: the call (a command line, a request or Python), the words for rules 2 to 5, the status if it
is not 2 or 422, and a corrected command that must run. Indented lines before a row are the file `p` of its command, or
the body of its request. Rows of a set `refused` have the whole sentence in the cell of rule 2: they check the messages
of each rule of a format, and not how much these help.
"""

import gzip
from pathlib import Path
from typing import Any, NamedTuple


class Mistake(NamedTuple):
    """A mistake: its set, its call, the words that meet the rules of the rubric, and the content of its file."""

    kind: str
    content: str
    line: str
    where: str = ""
    value: str = ""
    rule: str = ""
    way: str = ""
    status: str = ""
    mended: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The words that an answer must contain for rules 2 to 5 of the rubric."""
        return self.where, self.value, self.rule, self.way

    def lacking(self, said: str) -> list[str]:
        return [word for word in self.words if word not in said]


def _read() -> tuple[Mistake, ...]:
    kind, content, rows = "", "", list[Mistake]()
    for line in Path(__file__).with_suffix(".txt").read_text().splitlines():
        if line.startswith("## "):
            kind = line.removeprefix("## ")
        elif line.startswith("    "):
            content = line[4:].replace("\\n", "\n")
        elif line:
            rows.append(Mistake(kind, content, *(cell.strip() for cell in line.split(" |"))))
            content = ""
    return tuple(rows)


MISTAKES = _read()
FILES: dict[str, bytes] = {
    "lfs.tflite": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    "page.tflite": b"<!DOCTYPE html><html>404</html>",
    "m.pt": b"PK\x03\x04" + bytes(60) + b"archive/data.pkl",
    "m.h5": b"\x89HDF\r\n\x1a\n" + bytes(40),
    "m.gguf": b"GGUF\x03" + bytes(40),
    "m.hlo": b"HloModule jit_f, entry_computation_layout={}\n",
}
"""Files of kinds that no reader accepts, by name."""


def faulty_files() -> dict[str, bytes]:
    """Return the files of WITH_FILES by name: truncated files, and others."""
    from tests.runtimes import onnx_models, tflite_files

    tests = Path(__file__).parents[1]
    rows = [onnx_models.value(name, (1, 4)) for name in "xyz"]
    of_own = [onnx_models.node("MyOp", "x", "y"), onnx_models.node("Relu", "y", "z")]
    whole = {
        "cut.tflite": "models/recorded/kws_dscnn_int8.tflite",
        "cut.pte": "models/attention.pte",
        "cut.mlir": "dumps/attention.stablehlo.mlir",
        "cut.pto": "dumps/wrong/ptoas-545.pto",
        "cut.hlo.pb": "dumps/scan.hlo.pb",
        "cut.xla.txt": "dumps/scan.xla.txt",
        "cut.relax": "dumps/mlp_lowered.relax",
        "cut.ggml.json": "models/ggml/lenet.json",
        "cut.txt": "dumps/wrong/onnxruntime-32466.txt",
        "cut.iree.txt": "dumps/zfnet512.iree.txt",
    }
    halves = {name: (tests / path).read_bytes() for name, path in whole.items()}
    model, chain = halves["cut.tflite"], onnx_models.model([onnx_models.node("Relu", "x", "y")], rows[:1], rows[1:2])
    kind = "tensor<4xf32>"
    body = f"%0 = stablehlo.add %a, %a : {kind}\n  return %0 : {kind}"
    own = f"module @m {{\n func.func @main(%a: {kind}) -> {kind} {{\n  {body}\n }}\n}}"
    sizes: Any = {"shape": (1, 64), "signature": [-1, 64]}
    open_rows = [tflite_files.tensor(name, **sizes) for name in ("words", "y", "z")]
    open_ops = [tflite_files.operator("RELU", [0], [1]), tflite_files.operator("RELU", [1], [2])]
    return {name: data[: len(data) // 2] for name, data in halves.items()} | {
        "header.tflite": model[:300],
        "newer.tflite": model[:4] + b"TFL9" + model[8:],
        "chain.onnx": chain,
        "named.onnx": onnx_models.model(
            [onnx_models.node("Relu", "x", "y")], *([onnx_models.value(name, ("batch", "height"))] for name in "xy")
        ),
        "open.tflite": tflite_files.model(tflite_files.subgraph(open_rows, [0], [2], open_ops)),
        "cut.onnx": chain[: len(chain) // 2],
        "own.onnx": onnx_models.model(of_own, rows[:1], rows[2:]),
        "own.mlir": own.encode(),
        "ort.onnx": (tests / "dumps/wrong/onnxruntime-32466.onnx").read_bytes(),
        "ort.txt": (tests / "dumps/wrong/onnxruntime-32466.txt").read_bytes(),
        "wrapper.py": (tests / "dumps/wrong/pytorch-187678.py.txt").read_bytes(),
        "empty.tflite": b"",
        "empty.csv": b"",
        "c.gz": gzip.compress(b"{}"),
        "wide.csv": "id,lower,upper,size\na,0,3,64\n".encode("utf-16"),
    }
