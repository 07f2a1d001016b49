"""memplan inside and beside torch: steps and a memory, a backend of torch.compile, and the files that torch writes."""

from memplan.questions import Command

FITS = Command(
    where="memplan.extensions.torch.command:fits",
    help="Say whether a step of a torch model fits into memory: inference, or training with its optimizer.",
    panel="Networks",
)
MODULE = "memplan.extensions.torch.public"
"""The module whose names are those of `memplan.torch`."""
