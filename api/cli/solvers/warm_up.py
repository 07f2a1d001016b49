"""`memplan warm-up`: build the kernels where the package came without them; kept for one release."""

from __future__ import annotations

from memplan.api.cli.streams import say
from memplan.planner.errors import OptionError


def warm_up() -> None:
    """Build the kernels where the package came without them: deprecated, as that is done when it is installed."""
    from memplan.solvers.kernels import built
    from memplan.solvers.kernels.build import build
    from memplan.solvers.kernels.groups import kernel_groups

    say("memplan: warm-up is no longer needed, and goes with the next release: kernels are built with the package")
    try:
        build(built.folder())
    except OSError as error:
        raise OptionError(f"{built.folder()}: kernels cannot be built there: {error.strerror}") from error
    for group in kernel_groups():
        say(f"memplan: {group.name} kernels are in {built.folder()}")
