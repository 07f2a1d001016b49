"""Measure the sizes of TFLite Micro's structures with compilers: `TFLM INCLUDE... [--compiler ARM] [--to FILE]`.

For each structure that the runtime allocates in its arena, a C++ probe defines an array as long as its size and one as
long as its alignment; `nm` prints the lengths. The text of structures that are private to a kernel is copied from its
source file. In Arm's bare-metal ABI, enumerations are as small as their values permit; in other 32-bit ABIs, they are
integers. The ABI of the host is that of PyPI's `tflite_micro`, with compressed weights. INCLUDE: the folders of
flatbuffers, gemmlowp and ruy.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from tomllib import loads

TABLE = Path(__file__).parents[1] / "runtimes" / "tflite" / "tflm_sizes.csv"
_FLAGS = [
    "-std=c++17",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-DTF_LITE_STATIC_MEMORY",
    "-w",
    "-O0",
]
_ARM = ["-mcpu=cortex-m4", "-mthumb"]
ABIS = {"arm": (_ARM, True), "ilp32": ([*_ARM, "-fno-short-enums"], True), "lp64": (["-DUSE_TFLM_COMPRESSION"], False)}
"""Maps an ABI to (compiler flags, True for the Arm compiler); Xtensa, RISC-V and wasm32 use `ilp32`."""
_MICRO = "tensorflow/lite/micro"
_KERNELS = [
    *("activations", "add", "batch_matmul", "circular_buffer", "conv", "dequantize", "fully_connected", "hard_swish"),
    *("leaky_relu", "logistic", "lstm_shared", "mul", "pad", "pooling", "quantize", "reduce", "softmax", "sub", "svdf"),
]
_HEADERS = [
    '"arm_nn_types.h"',
    "<new>",
    '"tensorflow/lite/c/builtin_op_data.h"',
    '"tensorflow/lite/kernels/internal/types.h"',
    *(f'"{_MICRO}/{name}.h"' for name in ("micro_allocator", "recording_micro_allocator", "micro_allocation_info")),
    *(f'"{_MICRO}/memory_planner/{name}_memory_planner.h"' for name in ("greedy", "linear")),
    *(f'"{_MICRO}/arena_allocator/{name}.h"' for name in ("recording_single_arena_buffer_allocator",)),
    f'"{_MICRO}/micro_resource_variable.h"',
    *(f'"{_MICRO}/kernels/{name}.h"' for name in _KERNELS),
]
_STRUCTURES: Mapping[str, Mapping[str, str]] = loads(Path(__file__).with_suffix(".toml").read_text())
"""The structures to measure, and the source files of those that no header declares."""
_OF_COMPRESSION = ("data_ASSIGN_VARIABLE",)
"""Structures that a kernel allocates only if it is compiled with support for compressed weights, as on the host."""
_STRUCTURE = re.compile(r"^struct (OpData\w*|\w*OpData) \{.*?^\};", re.MULTILINE | re.DOTALL)
_OF_VENDOR = re.compile(r"^struct (\w+) \{.*?^\};", re.MULTILINE | re.DOTALL)


def probe(tflm: Path, vendors: Mapping[str, Path]) -> str:
    """Return the C++ source of the probe for all structures; `vendors` has the folder of each set of kernels."""
    kinds = {f"runtime {name}": of for name, of in _STRUCTURES["runtime"].items()}
    kinds |= {f"data {name}": of for name, of in _STRUCTURES["data"].items()}
    kinds |= {f"options {name}": f"TfLite{of}Params" for name, of in _STRUCTURES["options"].items()}
    lines = ["#define ESP_NN 1", *(f"#include {header}" for header in _HEADERS)]
    # TFLite Micro declares these structures privately, so the program declares copies to measure their sizes.
    lines.append(
        "namespace tflite { struct Rows { int size, offline, first, last, sorted, ids, offset, index, next, at; };"
    )
    lines.append("struct Variable { const char *container, *name; void* buffer; size_t bytes; int8_t initial; };")
    lines.append("struct Builtin { virtual void f(); void* allocator; };")
    kinds |= {"runtime Planned": "Rows", "runtime Variable": "Variable", "runtime Builtin": "Builtin"}
    for name, file in _STRUCTURES["hidden"].items():
        found = _STRUCTURE.search((tflm / _MICRO / "kernels" / f"{file}.cc").read_text())
        if found is None:
            sys.exit(f"{file}.cc: must define a structure named OpData... or ...OpData")
        needed = "constexpr int kMaxInputNum = 10; struct CenterSizeEncoding { float y, x, h, w; };"
        lines.append(f"namespace in_{file} {{ {needed}\n{found[0]}\n}}")
        kinds[f"data {name}"] = f"in_{file}::{found[1]}"
    for vendor, folder in vendors.items():
        for name, file in _STRUCTURES[vendor].items():
            found = _OF_VENDOR.search((folder / f"{file}.cc").read_text())
            if found is None:
                sys.exit(f"{folder / file}.cc: must define a structure")
            lines.append(f"namespace {vendor}_{name} {{\n{found[0]}\n}}")
            kinds[f"{vendor} {name}"] = f"{vendor}_{name}::{found[1]}"
    for name, of in kinds.items():
        symbol = name.replace(" ", "_")
        lines.append(f'extern "C" {{ char size_{symbol}[sizeof({of})]; char alignment_{symbol}[alignof({of})]; }}')
    return "\n".join([*lines, "}", ""])


def measure_structures(source: str, command: list[str]) -> dict[str, tuple[int, int]]:
    """Compile a probe; return the (size, alignment) in bytes of each structure, by name."""
    with tempfile.TemporaryDirectory() as folder:
        file, made = Path(folder) / "probe.cc", Path(folder) / "probe.o"
        file.write_text(source)
        subprocess.run([*command, "-c", str(file), "-o", str(made)], check=True)
        listed = subprocess.run(["nm", "-S", str(made)], check=True, capture_output=True, text=True).stdout
    sizes = {row[3]: int(row[1], 16) for row in map(str.split, listed.splitlines()) if len(row) == 4}
    names = [name.removeprefix("size_") for name in sizes if name.startswith("size_")]
    return {name: (sizes[f"size_{name}"], sizes[f"alignment_{name}"]) for name in names}


def main() -> int:
    """Measure the structures for each ABI, and write a CSV table of their sizes and alignments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tflm", type=Path)
    parser.add_argument("include", nargs="*", type=Path)
    parser.add_argument("--cmsis-nn", type=Path, required=True, help="the folder of CMSIS-NN")
    parser.add_argument("--esp-nn", type=Path, required=True, help="the folder of esp-tflite-micro's kernels")
    parser.add_argument("--compiler", default="arm-none-eabi-g++")
    parser.add_argument("--flags", default="", help="more flags of the compiler for Arm")
    parser.add_argument("--version", default="90b983c2b")
    parser.add_argument("--to", type=Path, default=TABLE)
    given = parser.parse_args()
    folders = [flag for folder in (given.tflm, *given.include) for flag in ("-I", str(folder.resolve()))]
    folders += ["-I", str((given.cmsis_nn / "Include").resolve())]
    vendors = {"cmsis": given.tflm / _MICRO / "kernels" / "cmsis_nn", "esp": given.esp_nn}
    source, columns = probe(given.tflm, vendors), dict[str, dict[str, tuple[int, int]]]()
    for name, (flags, is_arm) in ABIS.items():
        compiler = [given.compiler, *given.flags.split()] if is_arm else ["g++"]
        columns[name] = measure_structures(source, [*compiler, *_FLAGS, *flags, *folders])
        columns[name] |= dict.fromkeys(_OF_COMPRESSION, (0, 1)) if is_arm else {}
    head = ",".join(f"{name},{name} alignment" for name in columns)
    rows = [f"tflite-micro {given.version},{head}"]
    for name in columns["arm"]:
        rows.append(
            ",".join([name.replace("_", " ", 1), *(f"{n},{k}" for n, k in (c[name] for c in columns.values()))])
        )
    given.to.write_text("\n".join([rows[0], *sorted(rows[1:])]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
