"""`record` and `use_plan`: record the allocations of a step, plan them, and serve later runs at planned addresses.

torch accepts another allocator only before its own has been used. According to torch, such an allocator has no
expandable segments, no memory history and no private pools.
"""

from __future__ import annotations

import ctypes
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memplan.extensions.torch.replay.library import ReplayLibrary
from memplan.extensions.torch.replay.plan import ReplayOptions, ReplayPlan, allocations_of, plan_of
from memplan.planner.errors import InputError, excerpt
from memplan.questions.reading import validate_options

_REFUSED = re.compile(r"[Pp]luggable\w* does not yet support (\w+)")
_WAYS_OUT = (
    ("cacheinfo", "set torch.backends.cudnn.benchmark = False"),
    ("stats", "read memplan.torch.install().stats()"),
    ("pool", "capture no CUDA graphs (torch.compile without mode='reduce-overhead'), and use no torch.cuda.MemPool"),
    ("history|snapshot|metadata|trace", "record memory snapshots in a process without memplan.torch.install"),
    ("ipc|peer|handle", "share tensors with other processes through host memory"),
    ("", "run that part in a process without memplan.torch.install"),
)
"""What torch refuses for allocators that are not its own: a pattern of the refused function's name, and the way out."""
_SETTINGS = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
_WAY = "call memplan.torch.install() at the start of the program, before any tensor is on the device"


class _Installation:
    """The state of this process: the allocator installed in torch, if any, and the loaded plan."""

    library: ReplayLibrary | None = None
    allocator: Any = None
    loaded: str | None = None


def install() -> ReplayLibrary:
    """Install memplan's allocator in torch for CUDA, for the whole process; later calls change nothing.

    Raises InputError if torch has no CUDA device or has already used another allocator.
    """
    if _Installation.library is None:
        import torch

        for name in _SETTINGS:
            if value := os.environ.get(name):
                raise InputError(
                    f"{name}: must be unset, because the allocator of planned addresses has no such settings, "
                    f"got {excerpt(value)}: unset it, or do not install"
                )
        if not torch.cuda.is_available():
            raise InputError("torch: must have a CUDA device for planned addresses: without one, pass library=")
        library = ReplayLibrary()
        allocator = torch.cuda.memory.CUDAPluggableAllocator(library.path, "memplan_alloc", "memplan_free")
        try:
            torch.cuda.memory.change_current_allocator(allocator)
        except RuntimeError as error:
            raise InputError(f"torch: must not have used its own allocator yet: {_WAY}") from error
        address = ctypes.cast(library.functions.memplan_record_stream, ctypes.c_void_p).value
        allocator.allocator().set_record_stream_fn(address)
        _Installation.library, _Installation.allocator = library, allocator
    return _Installation.library


def record(step: Callable[[], object], *, library: ReplayLibrary | None = None, **options: object) -> ReplayPlan:
    """Run a step once, record the allocations and releases of all its threads, and return a verified plan.

    The step must have run once before, so that lasting allocations, such as the optimizer's state, already exist.
    Allocations that the step does not free are not planned and get separate bytes. The options are the fields of
    `ReplayOptions`; the default `library` is the result of `install`. Raises InputError, and any exception of the step.
    """
    asked = validate_options(ReplayOptions, options)
    used = library or install()
    used.record()
    try:
        with _explain_refusals():
            step()
    finally:
        used.end()
    allocations = allocations_of(used.events())
    if not allocations:
        raise InputError(
            f"scope {asked.scope}: must allocate memory, got no allocation: does the step run on the device?"
        )
    return plan_of(allocations, **asked.model_dump())


@contextmanager
def use_plan(
    plan: ReplayPlan | str | Path, scope: str | None = None, *, library: ReplayLibrary | None = None
) -> Iterator[dict[str, int | str]]:
    """Serve the allocations of a scope at their planned addresses while the context is entered.

    `plan` is a result of `record`, or a file that `ReplayPlan.save` wrote. `scope` may be omitted if the plan has only
    one. The context yields a dictionary, which contains the counters of this run after the context is left. An
    allocation that deviates from the plan gets other bytes, is counted, and causes one warning per process. A failed
    allocation raises MemoryError at the end, because torch does not notice it. Raises InputError for scopes that the
    plan lacks, inside another scope, and if torch refuses the allocator.
    """
    text = plan.file_text() if isinstance(plan, ReplayPlan) else _read_plan_text(plan)
    names = [line.split()[1] for line in text.splitlines() if line.startswith("scope ")]
    if scope is None and len(names) != 1:
        raise InputError(
            f"scope: must be given unless the plan has exactly one, got a plan with {', '.join(names) or 'none'}"
        )
    if scope is not None and scope not in names:
        raise InputError(f"scope: must be one of {', '.join(names)}, got {excerpt(scope)}")
    used = library or install()
    if _Installation.loaded != text:
        with tempfile.NamedTemporaryFile("w", suffix=".plan", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            used.load(file.name)
        _Installation.loaded = text
    counts: dict[str, int | str] = {}
    before = used.stats()
    used.begin(scope or names[0])
    try:
        with _explain_refusals():
            yield counts
    finally:
        used.end()
        after = used.stats()
        counts |= {
            name: value - int(before[name]) if name not in ("live", "arena", "reserved", "most", "message") else value
            for name, value in after.items()
            if isinstance(value, int)
        }
        counts["message"] = after["message"]
    if counts["unmatched"] or counts["busy"]:
        warnings.warn(f"{after['message']}: {counts['unmatched']} and {counts['busy']} others elsewhere", stacklevel=3)
    if counts["failures"]:
        raise MemoryError(str(after["message"]))


@contextmanager
def _explain_refusals() -> Iterator[None]:
    """Raise InputError with a remedy if torch refuses a call because another allocator replaced torch's own."""
    try:
        yield
    except RuntimeError as error:
        if (found := _REFUSED.search(str(error))) is None:
            raise
        way = next(way for word, way in _WAYS_OUT if re.search(word, found[1].lower()))
        raise InputError(
            f"step: must not call functions that need torch's own allocator, got {found[1]}: {way}"
        ) from error


def _read_plan_text(path: str | Path) -> str:
    """Return the text of a plan file. Raises InputError if the file cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: must be a plan that ReplayPlan.save wrote: {error}") from error
