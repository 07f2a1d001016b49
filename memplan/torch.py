"""memplan for torch: does a step fit into memory, and what would have to change. Imports torch."""

from memplan.extensions.torch.public import *  # noqa: F403
