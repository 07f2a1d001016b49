"""memplan for PyTorch: the command `fits`, a backend of torch.compile, and readers of the files that torch writes."""

from typing import TYPE_CHECKING

from memplan.questions import Command

if TYPE_CHECKING:
    import click


def _load_fits(_name: str) -> "click.Command":
    from memplan.extensions.torch.command import fits

    return fits


FITS = Command(
    _load_fits,
    help="Say whether a step of a torch model fits into memory: inference, or training with its optimizer.",
    panel="Networks",
)
MODULE = "memplan.extensions.torch.public"
"""The module that provides the names of `memplan.torch`."""
