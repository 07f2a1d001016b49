"""`memplan keys`: make, list and revoke API keys in the database that the settings name."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
from pydantic_core import to_json

from memplan.api.cli.flags import LIST_FORMAT, Argument, Flag, RangeType, size
from memplan.api.cli.help import SectionedGroup
from memplan.api.cli.streams import print_message, wants_table, write_output
from memplan.planner.errors import OptionError, excerpt

if TYPE_CHECKING:
    from memplan.api.store.api_key import Key
    from memplan.api.store.tables.keys import Keys

keys = SectionedGroup("keys", help="Make, list and revoke the keys by which callers of the service are known.")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


_WHO = Argument("name", help="The name of the caller that gets the key: letters, digits and . _ @ -")


@keys.command(
    params=[
        _WHO,
        Flag(
            *("scopes", "--scope"),
            type=click.Choice(("plan", "read", "admin")),
            multiple=True,
            help="What the key allows: plan (to solve), read (to look), or admin (everything). May be "
            "repeated. [plan and read]",
        ),
        Flag(
            "max_jobs", type=RangeType(min=0), help="The number of jobs of this key that may be unfinished at a time."
        ),
        Flag(
            "max_requests_per_minute",
            type=RangeType(min=1),
            help="The number of requests that this key may send each minute.",
        ),
        Flag(
            "max_kept_bytes",
            type=size,
            metavar="SIZE",
            help="The bytes of requests and answers that may be kept of its jobs, such as 2GiB.",
        ),
    ]
)
def add(name: str, scopes: Sequence[str], **quotas: int | None) -> None:
    """Make a key and print it on standard output. It is shown only this once, because only its hash is kept."""
    from memplan.api.store.api_key import Key, new_secret

    if not _NAME.fullmatch(name):
        raise OptionError(f"name: must be at most 64 letters, digits and . _ @ -, got {excerpt(name)}")
    key_id, text, record = new_secret()
    wanted = frozenset(scopes or ("plan", "read"))
    with _open_keys() as stored_keys:
        stored_keys.add(Key(key_id, name, record, wanted, time.time(), **quotas))
    write_output(None, f"{text}\n".encode())
    print_message(f"memplan: key {name} may {', '.join(sorted(wanted))}; it is not shown again")


@keys.command("list", params=[LIST_FORMAT])
def list_(display: str | None) -> None:
    """List all keys, including revoked ones. Their secrets are not kept."""
    with _open_keys() as stored_keys:
        facts = [_key_facts(key) for key in stored_keys.list_keys()]
    if wants_table(display):
        for line in _key_table(facts):
            print_message(line)
        return
    write_output(None, to_json({"keys": facts}) + b"\n")


@keys.command(params=[_WHO])
def revoke(name: str) -> None:
    """Revoke a key. After at most two seconds no server accepts it. Its name cannot be used again."""
    with _open_keys() as stored_keys:
        if not stored_keys.revoke(name, time.time()):
            raise OptionError(f"name: must be the name of an active key (keys list shows them), got {excerpt(name)}")
    print_message(f"memplan: key {name} is revoked")


@contextmanager
def _open_keys() -> "Iterator[Keys]":
    """Yield the table of keys in the database that the settings name; raises OptionError if the database fails."""
    from memplan.api.settings import read_settings
    from memplan.api.store.errors import StoreError
    from memplan.api.store.store import Store

    settings = read_settings()
    try:
        store = Store.open(settings.database_url, settings.data_folder)
        try:
            yield store.keys
        finally:
            store.close()
    except StoreError as error:
        raise OptionError(f"store: {error}") from error


def _key_facts(key: "Key") -> dict[str, object]:
    """Return a key's facts as JSON values, without its secret; times are texts."""
    return {
        "name": key.name,
        "id": key.id,
        "scopes": sorted(key.scopes),
        "max_jobs": key.max_jobs,
        "max_requests_per_minute": key.max_requests_per_minute,
        "max_kept_bytes": key.max_kept_bytes,
        "created_at": _time_text(key.created_at),
        "used_at": _time_text(key.used_at),
        "revoked_at": _time_text(key.revoked_at),
    }


def _key_table(facts: list[dict[str, object]]) -> list[str]:
    rows = [[heading.replace("_", " ") for heading in facts[0]]] if facts else [["no keys"]]
    for fact in facts:
        rows.append([", ".join(v) if isinstance(v, list) else "-" if v is None else str(v) for v in fact.values()])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _time_text(seconds: float | None) -> str | None:
    """Return a Unix time as UTC text such as `2024-05-01T12:00:00Z`; None for None."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
