"""The names of `memplan.torch`. Imports torch."""

from memplan_torch.inside.answer import FitsAnswer as FitsAnswer
from memplan_torch.inside.fits import fits as fits
