"""The public names of `memplan.torch`. Imports torch."""

from memplan.extensions.torch.inside.answer import FitsAnswer as FitsAnswer
from memplan.extensions.torch.inside.fits import fits as fits
from memplan.extensions.torch.replay.plan import ReplayPlan as ReplayPlan
from memplan.extensions.torch.replay.session import install as install
from memplan.extensions.torch.replay.session import record as record
from memplan.extensions.torch.replay.session import use_plan as use_plan
