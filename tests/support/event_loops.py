"""Tests written as coroutines, each of which runs in a separate event loop."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any

_MOST_S = 60
"""A test that waits for an answer that never comes fails after this time instead of hanging."""


def run_in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:

    @functools.wraps(test)
    def run(*arguments: Any, **fixtures: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*arguments, **fixtures), _MOST_S))

    return run
