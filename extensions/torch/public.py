"""The public names of `memplan.torch`. Imports torch."""

from memplan.extensions.torch.inside.answer import FitsAnswer as FitsAnswer
from memplan.extensions.torch.inside.fits import fits as fits
