"""memplan for PyTorch: check whether a training step fits into memory, and find changes that help. Imports torch."""

from memplan.extensions.torch.public import *  # noqa: F403
