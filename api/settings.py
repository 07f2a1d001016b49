"""The settings of the service, read once from the environment."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from memplan.planner.errors import InputError, OptionError, excerpt, sentences
from memplan.solvers.portfolio.options import MAX_TIME_LIMIT_S
from memplan.solvers.processes.threads import processors

PREFIX = "MEMPLAN_"
_SCHEMES = ("sqlite://", "postgresql://", "postgresql+psycopg://")
_LEAST_SECRET = 32
_LEAST_WORKER_BYTES = 384 * 2**20
"""The minimum memory, in bytes, with which a worker can start and solve a problem."""
_OTHERS = ("SERVER", "KEY")
_OF_KUBERNETES = (f"{PREFIX}SERVICE_", f"{PREFIX}PORT")
"""The prefixes of environment variables that Kubernetes sets for a service named memplan."""


def _check_database_url(url: str) -> str:
    """Check a database URL, and return it unchanged; raises PydanticCustomError if it is invalid."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    # The URL may contain a password, so quote only the URL's scheme in the error.
    if not url.startswith(_SCHEMES):
        scheme = f'"{url.partition("://")[0]}://..."' if "://" in url else "no ://"
        raise PydanticCustomError("rule", f"must begin with sqlite:// or postgresql://, got {scheme[:20]}")
    try:
        make_url(url)
    except (ArgumentError, ValueError):
        raise PydanticCustomError(
            "rule", "must be postgresql://USER:PASSWORD@HOST:PORT/NAME, percent-encoded"
        ) from None
    return url


def _check_admin_key(text: str) -> str:
    """Check the administrator's key, and return it unchanged; raises PydanticCustomError for a short or blank one."""
    if len(text) < _LEAST_SECRET or not text.isascii() or not text.isprintable() or " " in text:
        raise PydanticCustomError("rule", f"must be at least {_LEAST_SECRET} visible ASCII characters")
    return text


def _users_data_folder() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share") / "memplan"


class Settings(BaseSettings):
    """The settings of the service; each is set by the environment variable MEMPLAN_ and its name in capitals.

    `docs/operations.md` describes them. None means no limit, or the number of processors of the machine.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, validate_default=True)

    # These settings determine where the service stores data.
    data_folder: Path = Field(default_factory=_users_data_folder)
    database_url: Annotated[str, AfterValidator(_check_database_url)] | None = Field(default=None, repr=False)

    # These settings determine how many processes and searches run at once.
    workers: int = Field(default_factory=processors, ge=0)
    solves: int = Field(default_factory=processors, ge=1)
    threads: int | None = Field(default=None, ge=1)
    niceness: int = Field(default=10, ge=0, le=19)
    worker_memory_bytes: int | None = Field(default=None, ge=_LEAST_WORKER_BYTES)

    # These settings limit requests, jobs and stored data.
    max_body_bytes: int = Field(default=16 * 2**20, ge=1)
    max_time_limit_s: float = Field(default=3600.0, gt=0, le=MAX_TIME_LIMIT_S)
    waiting: int = Field(default=16, ge=0)
    max_jobs: int = Field(default=100_000, ge=0)
    max_jobs_per_key: int | None = Field(default=None, ge=0)
    max_kept_bytes: int = Field(default=64 * 2**30, ge=0)
    max_kept_bytes_per_key: int | None = Field(default=None, ge=0)

    # These settings determine how long jobs are kept, and whether plans are shared.
    job_kept_s: float = Field(default=7 * 86400.0, gt=0)
    share_plans: bool = True

    # These settings determine which keys and hosts may use the service.
    require_keys: bool | None = None
    hosts: str | None = None
    admin_key: Annotated[str, AfterValidator(_check_admin_key)] | None = Field(default=None, repr=False)

    # This setting determines how logs are written.
    log_format: Literal["text", "json"] = "text"

    @property
    def has_secrets(self) -> bool:
        """True if a setting contains a secret, so that this process must keep others from reading its memory."""
        return any(each is not None for each in (self.admin_key, self.database_url))

    @field_validator("data_folder")
    @classmethod
    def _absolute_folder(cls, folder: Path) -> Path:
        """Return the absolute path of a folder, with `~` expanded; raises PydanticCustomError without a home folder."""
        try:
            return folder.expanduser().absolute()
        except RuntimeError:
            rule = "must be a folder without ~, because there is no home folder, got {shown}"
            raise PydanticCustomError("rule", rule, {"shown": excerpt(str(folder))}) from None


def unknown_names(environment: Mapping[str, str]) -> list[str]:
    """Return the environment variables that begin like a setting's name but are no setting, so probably misspelt."""
    names = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields} | {f"{PREFIX}{name}" for name in _OTHERS}
    named = (name for name in sorted(environment) if name.startswith(PREFIX) and name not in names)
    return [name for name in named if not name.startswith(_OF_KUBERNETES)]


def read_settings(**given: Any) -> Settings:
    """Return the settings in `given`, completed from environment variables; an OptionError names a wrong variable."""
    try:
        return Settings(**given)
    except ValidationError as error:
        split = (sentence.split(":", 1) for sentence in InputError(*sentences(error)).sentences)
        raise OptionError(*(f"{PREFIX}{name.upper()}:{rule}" for name, rule in split)) from error
