"""Mistakes that people make, and the rubric by which the answers to them are scored.

An answer has a point for each of five rules, 0 to 5 in all:

1. It refuses: an exit status that says so, one or a few sentences, no traceback, nothing written.
2. Where: it names the file, and the row, the field, the line or the flag.
3. The value that was given is in it, as it was given.
4. What: the rule that is broken.
5. What to do: a value, a flag or a command to write instead. That a bound is named is no such thing.

A rule is met where the answer has the words that stand in the mistake's row; a row without words for a rule does not
meet it. Where a row names a command, that one must run.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

A = {"id": "a", "size": 64, "start": 0, "end": 3}
B = {"id": "b", "size": 32, "start": 2, "end": 5}


@dataclass(frozen=True)
class Mistake:
    """A mistake: its kind, what its file holds, the command, and the words that meet the rules of the rubric."""

    kind: str
    content: str
    line: str
    where: str
    value: str
    rule: str
    way: str
    status: int = 2
    mended: str = ""

    def score(self, status: int, said: str) -> int:
        """Return the points of an answer."""
        words = (self.where, self.value, self.rule, self.way)
        is_plain = "Traceback" not in said and "Value error" not in said
        refuses = status == self.status and is_plain and 0 < said.count("\n") <= 8
        return refuses + sum(bool(word) and word in said for word in words)


def text(*rows: object, **more: object) -> str:
    return json.dumps({"buffers": list(rows), **more})


def row(**fields: object) -> str:
    return text({**A, **fields})


def table(*lines: str, head: str = "id,lower,upper,size") -> str:
    return "\n".join((head, *lines)) + "\n"


def _of(kind: str, *rows: tuple[Any, ...]) -> list[Mistake]:
    return [Mistake(kind, *each) for each in rows]


PLAN_J, PLAN_C = "plan p.json", "plan p.csv"
NEW = [
    *_of(
        "rows",
        (row(size=2**70), PLAN_J, "buffers[0].size", str(2**70), "must be at most", "bytes, as 4096"),
        (row(alignment=0), PLAN_J, "buffers[0].alignment", "got 0", "must be at least 1", "left out, 1"),
        (row(start="begin"), PLAN_J, "buffers[0].start", '"begin"', "must be an integer", "the time step from which"),
        (
            text({"id": "a", "size": 4, "lifetimes": [0, 3]}),
            PLAN_J,
            "buffers[0].lifetimes[0]",
            "got 0",
            "must be a list",
            "as [[0, 3]]",
        ),
        (row(pools="fast"), PLAN_J, "buffers[0].pools", '"fast"', "must be a list", 'did you mean ["fast"]?'),
        (row(id=""), PLAN_J, "buffers[0].id", 'got ""', "must be a non-empty string", ""),
        (row(offset=-4), PLAN_J, "buffers[0].offset", "got -4", "must be at least 0", "left out, it is chosen"),
        (text(A, may_share=["a", "b"]), PLAN_J, "may_share[0]", '"a"', "must be a list", 'as [["a", "b"]]'),
        (row(start=5, end=3), PLAN_J, "buffers[0].end", "got 3", "must be greater than start (5)", "change places?"),
        (text(A, A), PLAN_J, "buffers[1].id", '"a" again', "must be unique", "a name of its own"),
        (row(shape=[1, 2]), PLAN_J, "buffers[0].shape", "shape", "not a known field", "size, in bytes"),
        (row(size="0x40"), PLAN_J, "buffers[0].size", '"0x40"', "must be an integer", "did you mean 64?"),
        (
            text(A, {**B, "relative": {"to": "a", "offset": "1"}}),
            PLAN_J,
            "buffers[1].relative.offset",
            '"1"',
            "must be an integer",
            "did you mean 1",
        ),
        (
            text(A, B, reuse=[{"pairs": [["a", "b"]], "cost": -1}]),
            PLAN_J,
            "reuse[0].cost",
            "got -1",
            "must be at least 1",
            "of each of its pairs that shares bytes, as 1",
        ),
    ),
    *_of(
        "documents",
        (
            "<?xml version='1.0'?><buffers/>",
            PLAN_J,
            "p.json",
            "XML",
            "must be a file that is read",
            "give a model or a problem",
        ),
        (row(size="64kb"), PLAN_J, "buffers[0].size", '"64kb"', "must be an integer", "did you mean 65536"),
        ('{"buffers": [{"id": "a"', PLAN_J, "p.json", "line 1 column", "must be JSON", "is it cut short?"),
        ("buffers:\n  - id: a", PLAN_J, "p.json", "YAML", "got YAML", "convert it to JSON"),
        ('[[buffers]]\nid = "a"', PLAN_J, "p.json", "TOML", "got TOML", "convert it to JSON"),
        ("Memory Configuration\n\nName", "plan p.map", "p.map", "a map", "of a linker", "with their lifetimes"),
        *(
            (
                text({**A, "size": "?"}).replace('"?"', word),
                PLAN_J,
                "line 1 column",
                word,
                "JSON has no",
                f"write {way}",
            )
            for word, way in (
                *(("0x40", "64"), ("1_024", "1024"), ("0400", "400"), ("+64", "64"), (".5", "0.5"), ("True", "true")),
                *(("Infinity", "a number, or leave"), ("NaN", "a number, or leave"), ("None", "null")),
            )
        ),
        ('{"id": "a"}\n{"id": "b"}', PLAN_J, "p.json", 'in "{', "trailing characters", "rows go into one list"),
        ("5", PLAN_J, "p.json", "got 5", "must be an object", 'write {"buffers":'),
        ("{'buffers': []}", PLAN_J, "p.json", "line 1 column", "key must be a string", "in double quotes"),
        ('// mine\n{"buffers": []}', PLAN_J, "p.json", "line 1 column", "must be JSON", "JSON has no comments"),
        (text(A, interval="open"), PLAN_J, "interval", '"open"', "must be 'half-open' or 'closed'", "left out"),
        (text(A, pools=[{"name": "x", "size": "1MiB"}]), PLAN_J, "pools[0].size", '"1MiB"', "an integer", "1048576"),
        (text(A, memory_pools=[]), PLAN_J, "memory_pools", "memory_pools", "not a known field", "did you mean pools?"),
        (text(A, conflicts=[["a"]]), PLAN_J, "conflicts[0][1]", "", "is required", 'as [["a", "b"]]'),
        (
            text(A, pools=[{"name": "x", "latency": 3}]),
            PLAN_J,
            "pools[0].latency",
            "latency",
            "not a known",
            "mean cost?",
        ),
    ),
    *_of(
        "tables",
        (
            table("a;0;3;64", head="id;lower;upper;size"),
            PLAN_C,
            "first line",
            "';'",
            "by commas",
            "id,lower,upper,size",
        ),
        ("a,0,3,64\nb,2,5,32\n", PLAN_C, "first line", "'a'", "must name a column", "id,lower,upper,size"),
        ("# mine\n" + table("a,0,3,4"), PLAN_C, "first line", "# mine", "must name a column", "(leave them out)"),
        (table("a,0,3,0x40"), PLAN_C, "line 2, column 'size'", "'0x40'", "must be an integer", "did you mean 64?"),
        (
            table('a,0,3,"1,024"'),
            PLAN_C,
            "line 2, column 'size'",
            "'1,024'",
            "must be an integer",
            "did you mean 1024?",
        ),
        (
            table("a,0,3,64,red", head="id,lower,upper,size,colour"),
            PLAN_C,
            "first line",
            "'colour'",
            "one of",
            "leave it out",
        ),
        (
            table("a,0,3,4", head="name,first,last,bytes"),
            PLAN_C,
            "first line",
            "'name'",
            "one of id",
            "did you mean id?",
        ),
        (table("a,0,3"), PLAN_C, "line 2", "'a,0,3'", "must have 4 cells", "as the first line"),
    ),
    *_of(
        "sizes",
        ("", "plan two.json --capacity 1,5KiB", "capacity", '"1,5KiB"', "must be a size", "did you mean 1.5KiB?"),
        ("", "plan two.json --capacity -5", "capacity", '"-5"', "must be a size", "did you mean 5?"),
        ("", "plan two.json --pool sram:4KiB", "capacity", '"sram:4KiB"', "must be a size", "did you mean sram=4KiB?"),
        ("", "plan two.json --pool a=4KiB --pool a=8KiB", "capacity", "a=8KiB", "once for each pool", "leave one out"),
        (
            "",
            "plan pools.json --capacity 64KiB",
            "capacity",
            '"64KiB"',
            "must name its pool",
            "did you mean fast=64KiB?",
        ),
        ("", "plan pools.json --capacity fats=64KiB", "capacity", '"fats"', "must name a pool", "(fast, slow)"),
        ("", "check two.json --tolerance lots", "tolerance", '"lots"', "must be a size or a percentage", "such as 512"),
        ("", "cascade kws.tflite --fit 1XB", "--fit", '"1XB"', "must be a size", "such as 4096, 64kB or 1MiB"),
    ),
    *_of(
        "flags",
        ("", "plan two.json --fit 4KiB", "--fit", "--fit", "No such option", "`memplan cascade`, `memplan convert`"),
        ("", "plan two.json --capacity", "--capacity", "--capacity", "requires an argument", "sram=128KiB@0x20000000"),
        (
            "",
            "explain two.json --capacity 4 KiB",
            "explain",
            "(KiB)",
            "extra argument",
            "did you mean --capacity '4 KiB'",
        ),
        ("", "plan two.json --timeout 3", "--timeout", "--timeout", "No such option", "did you mean --time-limit?"),
        ("", "plan two.json --ram 4KiB", "--ram", "--ram", "No such option", "did you mean --capacity?"),
        ("", "plan two.json --algorithm greedy", "--algorithm", "--algorithm", "No such option", "mean --solver?"),
        ("", "plan two.json --time-limit 3d", "--time-limit", '"3d"', "must be seconds", "10s, 500ms or 2min"),
        ("", "plan two.json --seed x", "--seed", "got x", "valid integer", "left out, it is 0"),
        ("", "plan two.json --time-limit 0", "time-limit", "got 0.0", "must be greater than 0.0", "left out, 10.0"),
        ("", "convert two.json plan.json --to scatter", "--to", "'scatter'", "is not one of", "did you mean armlink?"),
        ("", "plan two.json --format yaml", "format:", '"yaml"', "must name json", "did you mean json?"),
        ("", "plan two.json -o plan.gif", "output", '"plan.gif"', "must end in", ".svg"),
    ),
    *_of(
        "pairs of files",
        ("", "verify two.json kws.tflite", "kws.tflite", "tflite", "must be a plan", "`memplan plan kws.tflite`"),
        (
            "",
            "check two.json --baseline two.json",
            "two.json",
            "got a problem",
            "must be a plan",
            "`memplan plan two.json`",
        ),
        (
            "",
            "certify two.json kplan.json",
            "plan",
            '"main/x"',
            "must be one of this problem",
            'the problem has "a"',
        ),
        (
            '{"placements": [{"id": "a", "pool": "default", "offset": 0}]}',
            "convert two.json p.json",
            'buffer "b"',
            "no placement",
            "must be placed",
            "`memplan plan two.json --keep p.json`",
            2,
            "plan two.json --keep p.json",
        ),
        (
            '{"placements": [], "status": "infeasible"}',
            "convert two.json p.json",
            "plan.status",
            "infeasible",
            "must be optimal or feasible",
            "`memplan explain two.json`",
            2,
            "explain two.json",
        ),
        (
            '{"placements": {"a": 0}}',
            "verify two.json p.json",
            "p.json: placements",
            '{"a": 0}',
            "must be a list",
            'as [{"id": "a"',
        ),
    ),
    *_of(
        "commands",
        *(
            (
                "",
                f"{old} two.json",
                f"'{old}'",
                old,
                "No such command",
                f"did you mean `memplan {now}`?",
            )
            for old, now in (("export", "convert"), ("deploy", "convert"), ("replan", "plan --keep"))
        ),
        ("", "audit two.json plan.json", "audit", "'audit'", "No such command", "`memplan verify --better`?"),
        ("", "plan two.json -o a.c", "output", '"a.c"', "must end in", "`memplan convert two.json plan.json -o a.c`"),
        ("", "plan two.json -o /proc/x.json", "/proc/x.json", "/proc/x", "no file can be made", "in that folder"),
        (
            "",
            "plan two.json --solver os:getcwd",
            "solver",
            "os:getcwd",
            "must be a function",
            "plan(problem, time_limit",
        ),
        ("", "plan two.json --solver os:sep", "solver", 'got "/"', "must be a function", "plan(problem, time_limit_s)"),
        ("", "plan two.json --threads zero", "--threads", "got zero", "a valid integer", "[MEMPLAN_THREADS]"),
        ("", "plan two.json --views alias", "views", '"alias"', "for models only", "leave it out"),
        ("", "check two.json", "check", "", "needs a budget or a baseline", "--budget 256KiB"),
        ("", "check two.json --budget sram=64", "budget", '"sram"', "must name a pool", "--capacity sram=unlimited"),
        ("", "plan two.json --capacity 64kib", "error: capacity", '"64kib"', "must be a size", "did you mean 64KiB?"),
        (
            "",
            "plan two.json two.csv",
            "together",
            "two.csv",
            "must be given for several files",
            "`memplan plan two.json two.csv --together none`",
            2,
            "plan two.json two.csv --together none",
        ),
        ("", "kws.tflite --quiet", "memplan", "'kws.tflite'", "No such command", "`memplan plan kws.tflite --quiet`"),
        (
            "",
            "plan a model.json",
            "a:",
            "a model.json",
            "no such file",
            "`memplan plan 'a model.json'`",
            2,
            "plan 'a model.json'",
        ),
        ("", "verify two.json", "this file", "no offsets", "must have a plan inside", "`memplan plan two.json`"),
        ("", "plan tow.json", "tow.json", "tow.json", "no such file", "did you mean two.json?", 2, "plan two.json"),
        ("", "compare two.json", "two.json", "JSON", "must be a model file", "`memplan plan two.json`"),
        (
            "",
            "plan two.json --server localhost:1",
            "server",
            '"localhost:1"',
            "must be a URL",
            "mean http://localhost:1?",
        ),
        ("", "plan two.json --views separate", "two.json", 'views "separate"', "for models only", "leave it out"),
    ),
]
"""The new set; calls of Python, and requests, are beside it in the tests."""
FILES: dict[str, bytes] = {
    "lfs.tflite": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    "page.tflite": b"<!DOCTYPE html><html>404</html>",
    "m.pt": b"PK\x03\x04" + bytes(60) + b"archive/data.pkl",
    "m.h5": b"\x89HDF\r\n\x1a\n" + bytes(40),
    "m.gguf": b"GGUF\x03" + bytes(40),
    "m.hlo": b"HloModule jit_f, entry_computation_layout={}\n",
}
"""Files of kinds that nothing reads, by their names."""
_OTHER = "must be a file that is read here"
PINS = text({**A, "offset": 0}, {**B, "offset": 32})
OLD = [
    *_of(
        "second contact",
        (table("a,0,3,64KiB"), PLAN_C, "line 2, column 'size'", "'64KiB'", "must be an integer", "did you mean 65536"),
        (table("a,0,3,-4"), PLAN_C, "line 2, column 'size'", "got -4", "must be at least 0", ""),
        (table("a,0,3,4", "a,0,3,4"), PLAN_C, "line 3, column 'id'", "'a' again", "must be unique", "first on line 2"),
        (row(size=1024.0), PLAN_J, "buffers[0].size", "1024.0", "must be an integer", "did you mean 1024?"),
        (row(alias_of="zz"), PLAN_J, "buffers[0].alias_of", '"zz"', "must be the id of a buffer", "left out"),
        (text({**A, "pools": ["srm"]}, pools=[{"name": "sram"}]), PLAN_J, "pools[0]", '"srm"', "name a pool", "(sram)"),
        (PINS, PLAN_J, 'buffers "a" and "b"', "[32, 64)", "share bytes", '"a" pinned at 0', 1),
        ("", "plan lfs.tflite", "lfs.tflite", "a pointer of Git LFS", _OTHER, "git lfs pull"),
        ("", "plan page.tflite", "page.tflite", "a page in HTML", _OTHER, "download the file itself"),
        ("", "plan m.pt", "m.pt", "ZIP archive", _OTHER, "fetch it again"),
        ("", "plan m.h5", "m.h5", "HDF5", _OTHER, "tf.lite.TFLiteConverter"),
        ("", "plan m.gguf", "m.gguf", "GGUF", _OTHER, "torch.onnx.export"),
        ("", "plan m.hlo", "m.hlo", "a text of XLA", _OTHER, "--xla_dump_hlo_as_proto"),
        ("", "plan pools.json --capacity ram=4KiB", "capacity", '"ram"', "must name a pool", "(fast, slow)"),
        ("", "plan kws.tflite --dim N=1", "dim", '"N"', "must not be given", "leave it out"),
        ("", "plan kws.tflite --scratch CONV_2D=4KiB", "scratch", '"CONV_2D=4KiB"', "OPERATOR=BYTES", "CONV_2D=4096?"),
        (
            "",
            "convert plan.json two.json",
            "file and plan",
            "plan.json two.json",
            "must change places",
            "`memplan convert two.json plan.json`",
            2,
            "convert two.json plan.json",
        ),
        ("", "convert two.json kplan.json", "plan", '"main/x"', "must be one of this problem", 'problem has "a"'),
        ("", "check pools.json --budget fats=4KiB", "budget", '"fats"', "must name a pool", "(fast, slow)"),
        (
            "",
            "check two.json --baseline none.json",
            "none.json",
            "none.json",
            "no such file",
            "`memplan check two.json --save-baseline none.json`",
        ),
        ("", "order two.csv", "two.csv", "a table of lifetimes", "must be a model", "`memplan plan two.csv`"),
        ("", "cascade two.csv", "two.csv", "a table of lifetimes", "must be a model", "`memplan plan two.csv`"),
        (
            "",
            "plan two.json --keep kplan.json",
            "plan",
            '"main/x"',
            "must be one of this problem",
            'the problem has "a"',
        ),
        ("", "plan two.json -o plan.pdf", "output", '"plan.pdf"', "must end in", ".html"),
        ("", "order kws.tflite -o out.onnx", "output", '"out.onnx"', "must end in .tflite", "one of tflite"),
        (
            "",
            "plan two.json --pool ram=4KiB@20000000",
            "capacity",
            "20000000",
            "hexadecimal",
            "did you mean 0x20000000?",
        ),
        (
            "",
            "plan two.json --solver mymod:plan",
            "solver",
            "mymod:plan",
            "must be in a module",
            "got none named mymod in /",
        ),
        (
            "",
            "plan two.json a.json",
            "together",
            "a.json",
            "must be given for several files",
            "`memplan plan two.json a.json --together none`",
        ),
        ("", "check two.json two.csv", "check", "two.csv", "extra argument", "`memplan check two.csv`"),
        (
            "",
            "kws.tflite",
            "memplan",
            "'kws.tflite'",
            "No such command",
            "`memplan plan kws.tflite`",
            2,
            "plan kws.tflite",
        ),
        ("", "plan plan.json", "plan.json", "got a plan", "must be a problem", "`memplan verify PROBLEM plan.json`"),
        (text(), PLAN_J, "p.json: buffers", "got none", "must not be empty", ""),
        ("", "plan two.json --solver CBC", "solver", "'CBC'", "must be one of auto", "did you mean cbc?"),
        (
            "",
            "plan two.json --solver tvm-hill-climb",
            "solver",
            "'tvm-hill-climb'",
            "one of",
            "reference:tvm-hill-climb",
        ),
        ("", "plan two.json --solver GraphPlanMemory", "solver", "'GraphPlanMemory'", "one of", "reference:relay"),
        ("", "plan two.json --profile O3", "profile", '"O3"', "must be", "did you mean speed?"),
        (
            text(A, device_memory_pools=[]),
            PLAN_J,
            "p.json",
            "device_memory_pools",
            "not a known",
            "did you mean pools?",
        ),
        (row(tensor_id=4), PLAN_J, "buffers[0]", "tensor_id", "not a known field", "did you mean id?"),
        (
            text(A, pools=[{"pool_name": "x"}]),
            PLAN_J,
            "pools[0]",
            "pool_name",
            "not a known field",
            "did you mean name?",
        ),
        (row(size_hint_bytes=4), PLAN_J, "buffers[0]", "size_hint_bytes", "not a known field", "did you mean size?"),
        (row(mem_id=4), PLAN_J, "buffers[0]", "mem_id", "not a known field", "did you mean pools?"),
        (row(lifetime=[0, 3]), PLAN_J, "buffers[0]", "lifetime", "not a known field", "did you mean start and end"),
        ('{"buffers": [],}', PLAN_J, "p.json", "line 1 column", "must be JSON", "trailing comma"),
        (json.dumps([A]), PLAN_J, "p.json", "got a list", "must be an object", '{"buffers": [...]}'),
        (
            text(A, B | {"alias_of": {"id": "a", "offset": 8}}),
            PLAN_J,
            "alias_of",
            "got {",
            "id alone",
            "alias_offset 8",
        ),
        (
            text(A, pools={"sram": {"size": 9}}),
            PLAN_J,
            "pools",
            "",
            "must be a list",
            'mean [{"name": "sram", ...}, ...]',
        ),
        ("", "plan two.json --accept best", "accept", "best", "must be fit or a percentage", "such as 5%"),
        ("", "paln two.json", "paln", "paln", "No such command", "Did you mean 'plan'"),
        ("", "plan two.json -o plan.yaml", "plan.yaml", "plan.yaml", "must end in", ".json or .csv"),
        (row(size_bytes=3), PLAN_J, "buffers[0]", "size_bytes", "not a known field", "did you mean size?"),
    ),
]
"""The mistakes of second-contact.md that the command answers, and the words of other documents."""


CUT, AGAIN = "is it cut short", "Make or fetch it again"
WITH_FILES = [
    *_of(
        "cut off",
        ("", "plan cut.tflite", "model.buffers[0]", "bytes 22928", "must lie in the file", CUT),
        ("", "plan header.tflite", "model.buffers", "bytes 164", "must lie in the file (300 bytes)", CUT),
        ("", "plan cut.onnx", "cut.onnx: model", "bytes that do not parse", "must be an ONNX model", "cut short?"),
        ("", "compare cut.pte", "execution_plan[0].values[0]", "got bytes", "must lie in the file", CUT),
        ("", "plan cut.mlir", "cut.mlir", "got an end", "must have a brace for each", AGAIN),
        ("", "verify cut.pto", "cut.pto", "got an end", "must have a brace for each", AGAIN),
        ("", "plan cut.hlo.pb", "hlo_proto", "a field of 8149 bytes from byte 3", "its last byte (5432)", AGAIN),
        ("", "plan cut.xla.txt", "cut.xla.txt", 'no "HloLiveRange"', "must be XLA's text", "one behind the other"),
        ("", "plan cut.relax", "line 75", "'[' was never closed", "must be TVMScript", AGAIN),
        ("", "plan cut.ggml.json", "line 23", "EOF while parsing a string", "must be JSON", AGAIN),
        ("", "verify ort.onnx cut.txt", "cut.txt", 'value "first"', "must be an input or written by a node", AGAIN),
        ("", "plan cut.iree.txt", "cut.iree.txt", "a dump of IREE", "must be a file that is read", "print-ir-after"),
        (
            '{"placements": [{"id": "a", "pool": "default"',
            "verify two.json p.json",
            "line 1 column",
            '"default',
            "must be JSON",
            CUT,
        ),
        (
            '{"placements": [{"id": "a", "pool": "default"',
            "plan two.json --keep p.json",
            "p.json",
            '"default',
            "must be JSON",
            CUT,
        ),
        ("", "plan empty.tflite", "empty.tflite", "", "must not be empty", AGAIN),
        ("", "plan two.json --keep empty.csv", "empty.csv", "", "must not be empty", AGAIN),
        ("", "order cut.onnx", "cut.onnx: model", "bytes that do not parse", "must be an ONNX model", "cut short?"),
        ("", "convert cut.tflite -o x.tflite", "model.buffers[0]", "22928", "must lie in the file", CUT),
        ("", "plan two.json cut.tflite --together none", "cut.tflite", "22928", "must lie in the file", CUT),
    ),
    *_of(
        "of another version",
        (
            '{"format": "memplan/9", "buffers": []}',
            PLAN_J,
            "p.json: format",
            '"memplan/9"',
            "must be 'memplan/1'",
            "update this",
        ),
        (
            '{"format": "ggml-graph/9"}\n{"buffer": 0}',
            PLAN_J,
            "p.json",
            "a file of ggml-graph/9",
            "must be a file that is read",
            "of the version that wrote it",
        ),
        ("", "plan newer.tflite", "newer.tflite: model", '"TFL9"', "must have the identifier TFL3", "export it anew"),
        ("", "plan own.onnx", "node[0] (MyOp)", '"y"', "must have a shape", "save the model with the shapes"),
        (
            "",
            "plan own.mlir --dim n=4",
            "own.mlir: dim",
            '"n"',
            "must be a dimension that the program names",
            "leave it",
        ),
    ),
    *_of(
        "other kinds",
        (
            "",
            "liveness kws.tflite",
            "kws.tflite",
            "(tflite)",
            "must be operations",
            "`memplan convert kws.tflite --to op",
        ),
        ("", "liveness two.csv", "two.csv", "a table of lifetimes", "must be operations", "`memplan plan two.csv`"),
        ("", "liveness two.json", "two.json", "got a problem", "must be operations", "`memplan plan two.json`"),
        ("", "order wrapper.py", "wrapper.py: model", "lifetimes only", "must tell operations", "`memplan plan wrap"),
        ("", "order two.json", "two.json", "got a problem", "must be a model, operations", "`memplan plan two.json`"),
        ("", "schedule two.csv", "two.csv", "a table of lifetimes", "must be a model or a graph", "`memplan plan two"),
        ("", "compare two.csv", "two.csv", "a table of lifetimes", "must be a model file", "`memplan plan two.csv`"),
        ("", "check kws.tflite --baseline kws.tflite", "kws.tflite", "(tflite)", "must be a plan", "--save-baseline"),
        (
            "",
            "verify kws.tflite ort.txt",
            "ort.txt",
            "a model of onnx",
            "must be a plan of the file",
            "give that model",
        ),
        ("", "verify ort.txt", "ort.txt", "", "must come behind its model", "`memplan verify MODEL.onnx ort.txt`"),
        (
            "",
            "verify chain.onnx ort.txt",
            "ort.txt",
            'node "first"',
            "must be one of the model",
            "optimized_model_file",
        ),
        ("", "verify two.json two.json", "two.json", "this file", "must have a plan inside", "`memplan plan two.json`"),
        (
            "",
            "plan two.json --keep kws.tflite",
            "kws.tflite",
            "(tflite)",
            "must be a plan",
            "`memplan plan kws.tflite`",
        ),
        (
            "",
            "verify two.json plan.json --certificate kws.tflite",
            "kws.tflite",
            "TFL3",
            "must be a certificate, a text",
            "left out, the plan alone",
        ),
        ("", "plan c.gz", "c.gz", "compressed with gzip", "must be a file that is read", "unpack it"),
        ("", "plan wide.csv", "wide.csv", "UTF-16", "must be a file that is read", "save it as UTF-8"),
        ("", "plan folder", "folder", "folder", "is a directory", "name a file in it"),
        ('{"name": "x"}', PLAN_J, "p.json", "buffers", "is required", "give a problem"),
        ('{"a": 0, "b": -4}', "verify two.json p.json", "offsets[1]", '["b", -4]', "must be an id and an", 'as ["a"'),
        ('[["a", 0], ["b"]]', "plan two.json --keep p.json", "offsets[1]", '["b"]', "must be an id and", 'as ["a"'),
        (
            '{"functions": {"main": {"buffers": [], "body": [{"branches": [{"op": "x"}]}]}}}',
            "liveness p.json",
            "body[0].branches[0]",
            '{"op": "x"}',
            "must be a list",
            "each a list of statements, as [[",
        ),
    ),
    *_of(
        "missing",
        ("", "plan https://a.b/m.tflite", "m.tflite", "https://a.b/", "no such file", "`curl -L -o m.tflite https"),
        ("", "plan examples/two_memories.json", "examples/two", "two_mem", "no such file", "`memplan examples`"),
        (
            "",
            "verify two.json none.json",
            "none.json",
            "none.json",
            "no such file",
            "`memplan plan two.json -o none.json`",
            2,
            "plan two.json -o none.json",
        ),
        ("", "plan kw.tflite", "kw.tflite", "kw.tflite", "no such file", "did you mean kws.tflite?"),
    ),
    *_of(
        "options",
        ("", "explain two.json --capacity 80 -o why.gif", "output", '"why.gif"', "must end in", ".json"),
        ("", "plan two.json --threads 0", "threads", "got 0", "must be at least 1", "left out"),
        ("", "plan two.json --accept 0.05", "accept", '"0.05"', "must have its sign", "did you mean 5% or 0.05%?"),
        ("", "order chain.onnx --extra-cost 0.1", "extra-cost", '"0.1"', "must have its sign", "did you mean 10% or"),
        ("", "plan two.json --capacity 1e6", "capacity", '"1e6"', "must be a size", "did you mean 1000000?"),
        (
            '{"symbols": {"n": {"min": 1, "max": 4}}, "buffers": [{"id": "a", "size": "4*n", "start": 0, "end": 1}]}',
            "shapes p.json --limits",
            "p.json: within",
            "",
            "is required where the problem has no capacity",
            "--within 64MiB",
        ),
        (
            "",
            "plan chain.onnx --scratch CONV=1",
            "chain.onnx: scratch",
            "of onnx",
            "for TensorFlow Lite",
            "leave it out",
        ),
        ("", "plan kws.tflite --inclusive", "kws.tflite: inclusive", "", "for problems only", "leave it out"),
        ("", "cascade chain.onnx --dim N=4", "chain.onnx: dim", '"N"', "must be a dimension", "leave it out"),
        ("", "plan two.json --heaps 16", "heaps", "got 16", "at least the largest buffer", "did you mean 64?"),
        ("", "plan two.json --order best", "two.json: order", "", "must be asked for a model", "leave it out"),
        ("", "sweep two.json --size 4KiB:1KiB:1KiB", "size", '"1KiB"', "must not end below", "mean 1KiB:4KiB:1KiB?"),
        ("[m.tflite", "check two.json --budgets p.toml", "p.toml", "line 1", "must be TOML", "[model.tflite]"),
        ("", "verify two.json plan.json --save-plan x.json", "save-plan", "", "must be given with", "--better"),
        ("", "convert kws.tflite --macs 10 -o x.tflite", "macs", '"10"', "must be a share", "did you mean +10%?"),
    ),
]
"""Mistakes with files: cut off, of another version or kind, missing, or beside an option that is not for them."""


def broken_files() -> dict[str, bytes]:
    """Return the files of WITH_FILES by their names: halves of what is whole, and others."""
    # Imported here: few tests read them.
    from tests.support import onnx_models

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
    return {name: data[: len(data) // 2] for name, data in halves.items()} | {
        "header.tflite": model[:300],
        "newer.tflite": model[:4] + b"TFL9" + model[8:],
        "chain.onnx": chain,
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
