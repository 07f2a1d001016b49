"""`memplan fits`: a step of torch that a script describes, and the memory of a device.

No capability: it runs code of the caller's, which no service may.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from pydantic_core import to_json

from memplan.api.cli.arguments import ListFormat
from memplan.api.cli.streams import wants_table, write
from memplan.planner.errors.extras import require


class Allocator(StrEnum):
    """The allocators that are known."""

    CUDA = "cuda"
    EXPANDABLE = "expandable_segments"
    PLAN = "plan"
    CPU = "cpu"


def fits(
    script: Annotated[
        str, typer.Argument(metavar="SCRIPT.py:FUNCTION", help="The function that returns the arguments of fits.")
    ],
    capacity: Annotated[str | None, typer.Option(metavar="SIZE", help="The device's memory, such as 24GiB.")] = None,
    allocator: Annotated[Allocator, typer.Option(help="Who gives out memory.")] = Allocator.CUDA,
    suggest: Annotated[bool, typer.Option("--suggest", help="Say what would make it fit, each tried.")] = False,
    computed: Annotated[bool, typer.Option("--computed", help="Run the step on real values.")] = False,
    kernel_workspace: Annotated[str | None, typer.Option(metavar="SIZE", help="Workspaces of kernels.")] = None,
    cublas_workspace: Annotated[str | None, typer.Option(metavar="SIZE", help="That of cuBLAS, 8320KiB.")] = None,
    context: Annotated[str | None, typer.Option(metavar="SIZE", help="The context of the device.")] = None,
    nccl: Annotated[str | None, typer.Option(metavar="SIZE", help="Buffers of NCCL.")] = None,
    display: ListFormat = None,
) -> int:
    """Say whether a step of a torch model fits into memory: inference, or training with its optimizer.

    The script's FUNCTION is called with fake tensors and returns a dictionary of the arguments of
    `memplan.torch.fits`: model, inputs, and loss, targets, optimizer for training. No weights are loaded and nothing is
    computed. Exit status: 0 fits, or no capacity is given, 1 does not fit, 2 wrong input.
    """
    require("fits:", ["torch"])
    # Imported here: it imports torch.
    from memplan.api.torch.fits import lines
    from memplan.api.torch.script import fits_of_script

    sizes = {
        "capacity": capacity,
        "kernel_workspace": kernel_workspace,
        "cublas_workspace": cublas_workspace,
        "context": context,
        "nccl": nccl,
    }
    given = {name: size for name, size in sizes.items() if size is not None}
    answer = fits_of_script(script, allocator=allocator.value, suggest=suggest, computed=computed, **given)
    text = "".join(f"{line}\n" for line in lines(answer)).encode() if wants_table(display) else to_json(answer) + b"\n"
    write(None, text)
    return 1 if answer.fits is False else 0
