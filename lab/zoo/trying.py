"""Measures a model in a mode, in a separate process with a limit of CPU time."""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CHECKERS = Path(__file__).parents[2] / "checkers"


def try_model(model: Any, mode: str, folder: Path, limit_s: int) -> dict[str, Any]:
    """Measure a model in a mode, in a process that is killed after `limit_s` CPU seconds, and return the row."""
    from lab.zoo.measuring import Checkers

    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    child = context.Process(
        target=_send_row, args=(model, mode, Checkers(folder, CHECKERS), writer, limit_s), daemon=True
    )
    child.start()
    writer.close()
    try:
        return dict(reader.recv())
    except EOFError:
        child.join()
        reason = f"took more than {limit_s} s" if child.exitcode in (-9, -24) else f"died with {child.exitcode}"
        return {"source": model.source, "family": model.family, "model": model.name, "mode": mode, "reason": reason}
    finally:
        child.join()


def _send_row(model: Any, mode: str, checkers: Any, writer: Any, limit_s: int) -> None:
    """Measure a model in this process within a limit of CPU seconds, and send the row through `writer`."""
    from lab.zoo.measuring import measure

    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 1))
    warnings.simplefilter("ignore")
    writer.send(measure(model, mode, checkers))


def tried_in_turn(wanted: tuple[str, str], limit_s: int) -> dict[str, Any]:
    """Try one (model key, mode) of the zoo, and return its row of results; runs on a machine of a cluster."""
    from lab.zoo.models import models

    with tempfile.TemporaryDirectory() as text:
        key, mode = wanted
        return try_model(next(model for model in models() if model.key == key), mode, Path(text), limit_s)


def missing_packages() -> str:
    """Return the zoo's packages that this machine lacks, as text for an error message; "" if it has all."""
    return ", ".join(f"lacks {name}" for name in ("torch", "timm", "transformers") if find_spec(name) is None)
