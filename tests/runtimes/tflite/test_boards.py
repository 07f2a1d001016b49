"""docs/builds.md: each snippet is compiled for a Cortex-M, and the arena lies where the linker script says."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from memplan.api.cli.main import main

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "builds.md").read_text(encoding="utf-8")
KEYWORDS = ROOT / "tests" / "models" / "recorded" / "kws_dscnn_int8.tflite"
CORTEX_M = ["-mcpu=cortex-m7", "-mthumb", "-ffreestanding", "-Wall", "-Werror", "-c"]
STUBS = {
    "micro_interpreter.h": """#pragma once
        #include <cstddef>
        enum TfLiteStatus { kTfLiteOk, kTfLiteError };
        struct TfLiteTensor;
        namespace tflite {
        struct Model;
        struct MicroOpResolver {};
        struct MicroInterpreter {
          MicroInterpreter(const Model *, const MicroOpResolver &, unsigned char *, size_t);
          TfLiteStatus AllocateTensors();
        };
        }""",
    "micro_mutable_op_resolver.h": """#pragma once
        #include "tensorflow/lite/micro/micro_interpreter.h"
        namespace tflite {
        template <unsigned count> struct MicroMutableOpResolver : MicroOpResolver {
          TfLiteStatus AddConv2D(); TfLiteStatus AddDepthwiseConv2D(); TfLiteStatus AddAveragePool2D();
          TfLiteStatus AddFullyConnected(); TfLiteStatus AddSoftmax();
        };
        }""",
    "micro_allocator.h": """#pragma once
        #include <cstddef>
        namespace tflite {
        struct MicroAllocator {
          static MicroAllocator *Create(unsigned char *, size_t, unsigned char *, size_t);
        };
        }""",
    "schema_generated.h": """#pragma once
        namespace tflite { struct Model; const Model *GetModel(const void *); }""",
}
"""The declarations of TFLite Micro that the page calls."""
SCRIPT = """
MEMORY { FLASH (rx) : ORIGIN = 0x08000000, LENGTH = 1M
  DTCMRAM (rw) : ORIGIN = 0x20000000, LENGTH = 128K
  RAM (rw) : ORIGIN = 0x24000000, LENGTH = 512K }
ENTRY(net_main)
SECTIONS { .text : { *(.text*) *(.rodata*) } >FLASH
%s
.bss : { *(.bss*) } >RAM
/DISCARD/ : { *(.comment) *(.ARM.attributes) } }
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, its C, and the declarations of TFLite Micro."""
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("snippets are compiled where arm-none-eabi-gcc is installed")
    monkeypatch.chdir(tmp_path)
    shutil.copy(KEYWORDS, tmp_path / "model.tflite")
    for name, text in STUBS.items():
        folder = tmp_path / "tensorflow/lite" / ("schema" if name.startswith("schema") else "micro")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    # Debian's compiler for C++ comes without its own library.
    (tmp_path / "cstddef").write_text("#pragma once\n#include <stddef.h>\nusing std_size_t = size_t;\n")
    return tmp_path


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def deploy_and_compile(*options: str) -> None:
    arguments = ["convert", "model.tflite", "--c-array", "-o", "net.tflite", "--time-limit", "1", "--quiet", *options]
    assert main(arguments) == 0
    run("arm-none-eabi-gcc", "-std=c11", *CORTEX_M, "net.c", "-o", "net.o")


def test_the_tutorial_has_twelve_lines_and_all_its_snippets_compile(project: Path) -> None:
    deploy_and_compile()
    first, second = blocks("cpp")
    assert len(first.splitlines()) <= 12
    for number, source in enumerate((first, second)):
        Path(f"snippet{number}.cpp").write_text(source)
        flags = ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-I.", *CORTEX_M]
        run("arm-none-eabi-g++", *flags, f"snippet{number}.cpp", "-o", f"snippet{number}.o")


@pytest.mark.parametrize("section", re.findall(r"^\| [\w-]+ \| `(\.[\w.]+)` \|", PAGE, re.MULTILINE))
def test_the_generated_arena_is_in_the_linker_section_of_each_board(project: Path, section: str) -> None:
    deploy_and_compile("--section", section)
    assert section in run("arm-none-eabi-objdump", "-h", "net.o")


def test_the_script_puts_the_arena_into_the_fast_memory_and_the_model_into_flash(project: Path) -> None:
    deploy_and_compile("--section", ".dtcm")
    (script,) = blocks("ld")
    Path("board.ld").write_text(SCRIPT % script)
    body = "net_arena[0] = net[0]; return net_arena[NET_HEAD_SIZE - 1];"
    Path("main.c").write_text(f'#include "net.h"\nint net_main(void) {{ {body} }}\n')
    run("arm-none-eabi-gcc", "-std=c11", *CORTEX_M, "main.c", "-o", "main.o")
    run("arm-none-eabi-gcc", "-nostdlib", "-Wl,-T,board.ld", "main.o", "net.o", "-o", "board.elf")
    symbols = {line.split()[2]: int(line.split()[0], 16) for line in run("arm-none-eabi-nm", "board.elf").splitlines()}
    assert 0x20000000 <= symbols["net_arena"] < 0x20020000
    assert 0x08000000 <= symbols["net"] < 0x08100000
    assert (symbols["net_arena"] % 16, symbols["net"] % 16) == (0, 0)
    sections = run("arm-none-eabi-readelf", "-S", "board.elf").splitlines()
    assert "NOBITS" in next(line for line in sections if ".dtcm" in line)


@pytest.mark.parametrize("addresses", [("", ""), ("@0x20000000", "@0x60000000")])
def test_six_printed_commands_lead_from_a_model_and_a_chip_to_a_linked_program_of_two_memories(
    addresses: tuple[str, str], project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def printed_commands(line: str, word: str) -> list[str]:
        assert main(shlex.split(line)) == (1 if line.startswith("check") else 0)
        return [each for each in re.findall("`([^`]*)`", "".join(capfd.readouterr())) if word in each]

    chip = "--target stm32h7 --kernels cmsis-nn"
    (plan_line,) = printed_commands(f"check model.tflite {chip} --budget 12KiB --format table", "--pool psram")
    for pool, address in zip(("12288", "unlimited"), addresses, strict=True):
        plan_line = plan_line.replace(pool, pool + address)
    (convert_line,) = printed_commands(plan_line.removeprefix("memplan "), "_memory.c")
    *scripts, compiling, linking, measuring = printed_commands(convert_line.removeprefix("memplan "), "_memory.")
    plan = json.loads((project / "plan.json").read_text())
    assert {row["pool"] for row in plan["placements"]} == {"sram", "psram"}
    assert (plan["read_with"]["target"], plan["read_with"]["kernels"]) == ("stm32h7", "cmsis-nn")
    assert len(scripts) == any(addresses)
    assert all(printed_commands(line.removeprefix("memplan "), "memplan") == [] for line in scripts)
    Path("main.c").write_text(
        '#include "model_memory.h"\nint main(void) { model_memory_pool_sram[0] = 1;'
        " return model_memory_pool_psram[MODEL_MEMORY_POOL_SIZE_psram - 1] + MODEL_MEMORY_RUNTIME_TAIL; }\n"
    )
    ends = "__bss_start__ = 0; __bss_end__ = 0; end = ORIGIN(RAM);"
    Path("board.ld").write_text(f"INCLUDE model_memory.ld\n{SCRIPT % ''}{ends}".replace("net_main", "main"))
    for line in (compiling, linking):
        run(*shlex.split(line))
    assert "filename" in run(*shlex.split(measuring))
    lines = run("arm-none-eabi-nm", "-S", "model_memory.elf").splitlines()
    symbols = [line.split() for line in lines if "_pool_" in line]
    places = {name: (int(place, 16), int(size, 16)) for place, size, _, name in symbols}
    used = {f"model_memory_pool_{pool['name']}": pool["used"] for pool in plan["pools"]}
    assert {name: size for name, (_, size) in places.items()} == used
    for pool, address in zip(("sram", "psram"), addresses, strict=True):
        assert not address or places[f"model_memory_pool_{pool}"][0] == int(address[1:], 16)
