"""memplan for torch: does a step fit into memory, and what would have to change. Imports torch."""

from memplan.api.torch.answer import FitsAnswer as FitsAnswer
from memplan.api.torch.fits import fits as fits
