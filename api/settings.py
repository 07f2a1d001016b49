"""What an operator decides, read once from the environment."""

from __future__ import annotations

import os

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from planner.errors import OptionError, sentences
from solvers.solve import MAX_TIME_LIMIT_S


class Settings(BaseSettings):
    """The limits of the service; each is set by MEMPLAN_ and its name in capitals, such as MEMPLAN_MAX_BODY_BYTES.

    `solves` run at once; `waiting` more may wait in line, the next is turned away. `max_cells` is the number of
    buffers times pools that a problem may have, which is what the memory for solving it grows with.
    """

    model_config = SettingsConfigDict(env_prefix="MEMPLAN_", frozen=True)

    max_body_bytes: int = Field(default=128 * 2**20, ge=1)
    max_cells: int = Field(default=20_000_000, ge=1)
    max_time_limit_s: float = Field(default=3600.0, gt=0, le=MAX_TIME_LIMIT_S)
    solves: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1)
    waiting: int = Field(default=16, ge=0)


def read_settings() -> Settings:
    """Read the settings from the environment; raises OptionError, which names the variable."""
    try:
        return Settings()
    except ValidationError as error:
        split = (sentence.split(":", 1) for sentence in sentences(error))
        raise OptionError(*(f"MEMPLAN_{name.upper()}:{rule}" for name, rule in split)) from error
