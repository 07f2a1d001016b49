"""The processors on which TFLite Micro runs: the sizes of its structures there, and the available sets of kernels.

`python -m lab.tflm_sizes` makes the table of sizes from one version's headers, by compilers. Arm's ABI for firmware has
4-byte pointers and enumerations as small as their values; Xtensa, RISC-V and wasm32 have 4-byte ones. `host` is the
package `tflite_micro` from PyPI: 8-byte pointers, records of its allocations, and kernels for compressed weights.
"""

from collections.abc import Mapping
from csv import reader
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from tomllib import loads
from typing import Any, NamedTuple

from memplan.planner.errors import Option, OptionError, excerpt
from memplan.planner.errors.did_you_mean import closest_word, did_you_mean

_HOST = "host"
REFERENCE = "reference"
_CORES = {
    "arm": "cortex-m0 cortex-m0+ cortex-m3 cortex-m4 cortex-m7 cortex-m23 cortex-m33 cortex-m52 cortex-m55 cortex-m85",
    "ilp32": "esp32 esp32s2 esp32s3 esp32c2 esp32c3 esp32c5 esp32c6 esp32h2 esp32p4 riscv32 xtensa wasm32",
    "lp64": _HOST,
}
ABIS = {core: abi for abi, cores in _CORES.items() for core in cores.split()}
"""The ABI of each target, which is a column of the table of sizes."""
KERNELS: Mapping[str, str] = {
    REFERENCE: "",
    "cmsis-nn": "cortex-m",
    "esp-nn": "esp32",
    "ethos-u": "cortex-m",
    "xtensa": "xtensa",
}
"""Maps each set of kernels to the prefix of the names of its targets."""
_USUAL = ("cortex-m4", "esp32s3", "xtensa")
"""The target that an error message proposes for each set of kernels."""
_XTENSA = ("esp32", "esp32s2", "esp32s3")
"""Espressif's chips whose processor is an Xtensa; that of the others is a RISC-V."""
_BOARDS = {
    "nano33ble": "cortex-m4", "rp2040": "cortex-m0+", "rp2350": "cortex-m33", "stm32f4": "cortex-m4",
    "stm32h7": "cortex-m7", "teensy41": "cortex-m7", "esp32-s3": "esp32s3", "esp32-c3": "esp32c3",
}  # fmt: skip


class Size(NamedTuple):
    """The size and the alignment of a structure, both in bytes."""

    size: int
    alignment: int


@dataclass(frozen=True)
class Target:
    """A processor, and the set of kernels that the firmware links; `is_named` is True if the user chose either."""

    name: str = _HOST
    kernels: str = REFERENCE
    is_named: bool = False

    @property
    def abi(self) -> str:
        """The processor's ABI, which is the name of its column in the table of structure sizes."""
        return ABIS[self.name]

    @property
    def is_host(self) -> bool:
        """True for the runtime in the Python package `tflite_micro`, which also records its allocations."""
        return self.name == _HOST

    @property
    def pointer(self) -> int:
        """The size of a pointer in bytes."""
        return self.runtime("Pointer").size

    def runtime(self, name: str) -> Size:
        """Return the size and alignment of one of the runtime's structures, such as `Tensor`."""
        return _structure_sizes()[f"runtime {name}"][self.abi]

    def kernel_bytes(self, name: str) -> int:
        """Return the bytes of the persistent data of an operator's kernel; 0 if it has none."""
        vendor = "esp" if self.kernels == "esp-nn" else "cmsis" if self.has_cmsis else ""
        found = _structure_sizes().get(f"{vendor} {name}") or _structure_sizes().get(f"data {name}", _NOTHING)
        return found[self.abi].size

    def options(self, name: str) -> Size:
        """Return the size and alignment of an operator's parsed options; (0, 1) if it has none."""
        found = _structure_sizes().get(f"options {name}", _NOTHING)[self.abi]
        return _LATER.get(f"options {name}", found) if self.is_host else found

    @property
    def has_cmsis(self) -> bool:
        """True for the sets of kernels that include CMSIS-NN's kernels."""
        return self.kernels in ("cmsis-nn", "ethos-u")

    @property
    def is_dsp(self) -> bool:
        """True for Arm's cores with DSP instructions but no vector unit."""
        return self.name in ("cortex-m4", "cortex-m7", "cortex-m33")

    @property
    def is_vector(self) -> bool:
        """True for Arm's cores with a vector unit."""
        return self.name in ("cortex-m52", "cortex-m55", "cortex-m85")

    @property
    def compiler(self) -> str:
        """The command of the usual C compiler for the processor, with the flags that it needs to link a program."""
        core = self.name.replace("+", "plus")
        if self.name.startswith(KERNELS["cmsis-nn"]):
            return f"arm-none-eabi-gcc -mcpu={core} -mthumb --specs=nosys.specs"
        if self.name.startswith(KERNELS["esp-nn"]):
            return f"{f'xtensa-{core}' if core in _XTENSA else 'riscv32-esp'}-elf-gcc --specs=nosys.specs"
        return "cc"

    @property
    def text(self) -> str:
        """The target in words; empty if the user names none."""
        if not self.is_named:
            return ""
        return f"{self.name} ({8 * self.pointer}-bit, {self.kernels} kernels)"


_LATER = {"options FULLY_CONNECTED": Size(32, 8)}
"""Sizes in PyPI's `tflite_micro` of 23 October 2026 that are larger than in the headers used for the table."""
_NOTHING = dict.fromkeys(_CORES, Size(0, 1))


@cache
def _structure_sizes() -> Mapping[str, Mapping[str, Size]]:
    with (Path(__file__).parent / "tflm_sizes.csv").open() as file:
        _, *rows = reader(file)
    return {
        name: {abi: Size(int(cells[2 * k]), int(cells[2 * k + 1])) for k, abi in enumerate(_CORES)}
        for name, *cells in rows
    }


@cache
def kernel_facts(*path: str) -> Mapping[str, Any]:
    """Return the table at a path in `tflm_kernels.toml`, which has the facts of kernels; all tables without a path."""
    if path:
        return reduce(lambda table, name: table[name], path, kernel_facts())
    return loads((Path(__file__).parent / "tflm_kernels.toml").read_text())


@cache
def facts_by_operator(*path: str) -> Mapping[str, str]:
    """Return the facts in a table of the file by the operator's name."""
    return {name: fact for fact, names in kernel_facts(*path).items() for name in names.split()}


@cache
def operators_with(table: str, fact: str) -> frozenset[str]:
    """Return the names of the operators for which a table of the file lists a fact."""
    return frozenset(kernel_facts(table).get(fact, "").split())


HOST = Target()
"""The default target: the runtime of the Python package, with the reference kernels."""


def target_of(name: str | None, kernels: str | None) -> Target:
    """Return the target for the options `target` and `kernels`; raises OptionError for unknown or incompatible ones."""
    core = _BOARDS.get(name or _HOST, name or _HOST)
    if core not in ABIS:
        chip, _, linked = core.partition("/")
        both = ("; give ", Option("target", chip), " ", Option("kernels", linked)) if linked in KERNELS else ()
        near = did_you_mean(core, (*_BOARDS, *ABIS)) or "; give the processor of another board, as cortex-m4"
        hint = "; only check takes several" if "," in core else "" if both else near
        hint = f"; kernels follow their processor after a slash, as CHIP/{core}" if core in KERNELS else hint
        rule = f"must be one of {', '.join((*ABIS, *_BOARDS))}, got {excerpt(name)}{hint}"
        raise OptionError.from_rule("target", rule, *both)
    kind = kernels or REFERENCE
    kinds = [each for each, prefix in KERNELS.items() if core.startswith(prefix)]
    if kind not in kinds:
        words = f"one of {', '.join(kinds)}" if len(kinds) > 1 else kinds[0]
        hint = "" if kind in KERNELS else did_you_mean(kind, KERNELS if core == _HOST else kinds)
        rule = f"must be {words} for {excerpt(core)}, got {excerpt(kind)}{hint}"
        meant = kind if kind in KERNELS else closest_word(kind, KERNELS)
        boards = [each for each in _USUAL if core == _HOST and meant and each.startswith(KERNELS[meant])]
        way = ("; give ", Option("target", boards[0])) if boards else ()
        raise OptionError.from_rule("kernels", rule, *way)
    return Target(core, kind, name is not None or kernels is not None)
