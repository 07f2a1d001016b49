"""Parsing and formatting of sizes such as `1.5 MiB`, of addresses, and of shares such as 10%."""

import re
from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from memplan.planner.errors import OptionError, excerpt
from memplan.planner.errors.did_you_mean import byte_count_hint
from memplan.planner.model.problem import ADDRESS_SPACE, Pool, Problem, replace_fields
from memplan.planner.model.rows import Bytes

_DECIMAL = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BINARY = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50, "EiB": 2**60}
_OF_LINKERS = {"K": 2**10, "M": 2**20, "G": 2**30}
UNITS = {"": 1, **_DECIMAL, **_BINARY, **_OF_LINKERS}
_HEXADECIMAL = r"(?a)0[xX][0-9a-fA-F]{1,30}"
_SIZE = r"(?a)([0-9]{1,30}(?:\.[0-9]{1,30})?) ?([A-Za-z]*)"
UNLIMITED = "unlimited"


def parse_size(text: str) -> int:
    """Return the bytes of a size such as `4096`, `1MiB`, `1.5 KiB` or `64kB`; raises ValueError with a sentence.

    As in linker scripts, `64K` means 64 KiB, and `0x10000` is hexadecimal.
    """
    if re.fullmatch(_HEXADECIMAL, text.strip()):
        size = Fraction(int(text.strip(), 16))
    else:
        match = re.fullmatch(_SIZE, text.strip())
        if match is None or match[2] not in UNITS:
            raise ValueError(f"must be a size such as 4096, 64kB or 1MiB, got {excerpt(text)}{_size_hint(match, text)}")
        size = Fraction(match[1]) * UNITS[match[2]]
    if size.denominator != 1:
        raise ValueError(f"must be a whole number of bytes, got {excerpt(text)}")
    if size >= ADDRESS_SPACE:
        raise ValueError(f"must be less than 2^63 bytes, got {excerpt(text)}")
    return int(size)


def _parsed_bytes(value: Any) -> Any:
    try:
        return parse_size(value) if isinstance(value, str) else value
    except ValueError as error:
        raise PydanticCustomError("rule", "{rule}", {"rule": str(error)}) from None


Size = Annotated[Bytes, BeforeValidator(_parsed_bytes, json_schema_input_type=int | str)]
"""A number of bytes, which may also be given as text with a unit."""


def _size_hint(match: re.Match[str] | None, text: str) -> str:
    """Return a hint at the size that was probably meant, such as one with another unit; empty without a good guess."""
    if match is None:
        if number := byte_count_hint(text):
            return number
        other = text.strip().lstrip("+-").replace(",", ".").replace(":", "=")
        is_meant = re.fullmatch(_SIZE, other.rpartition("=")[2]) is not None and other != text
        return f" (did you mean {other}?)" if is_meant else ""
    unit = match[2].lower().removesuffix("bytes").removesuffix("byte")
    names = [name for name in UNITS if name.lower() == unit]
    if match[2] == "KB":
        names = ["kB", "KiB"]
    return f" (did you mean {' or '.join(match[1] + name for name in names)}?)" if names else ""


def size_text(size: int) -> str:
    """Return a size in the largest binary unit that does not exceed it: `1.5 MiB`, `12 B`."""
    value, chosen = float(size), "B"
    for unit, factor in _BINARY.items():
        if 2048 * size >= 2047 * factor:  # From 1023.5 of a unit on, rounding gives 1024, so use the next.
            value, chosen = size / factor, unit
    return f"{value:.4g} {chosen}" if value < 1000 else f"{value:,.0f} {chosen}"


def set_capacities(problem: Problem, capacities: Sequence[str]) -> Problem:
    """Return the problem with new pool sizes, given as `SIZE` for the only pool, or as `NAME=SIZE` for each.

    If the problem names no pools, as in tables, the names define its pools in order of preference. A size may be
    `unlimited`, and may be followed by the pool's base address, as in `sram=128KiB@0x20000000`. Raises OptionError.
    """
    if not capacities:
        return problem
    sizes = dict(_pool_fields(text, problem, len(capacities)) for text in capacities)
    if len(sizes) < len(capacities):
        raise OptionError.from_rule(
            "capacity",
            f"must be given at most once for each pool, got {', '.join(capacities)}: keep one value per pool",
        )
    names = [pool.name for pool in problem.pools]
    if problem.pools == (Pool(),) and "default" not in sizes:
        pools = [{"name": name, **fields} for name, fields in sizes.items()]
    elif unknown := [name for name in sizes if name not in names]:
        raise OptionError.from_rule(
            "capacity", f"must name a pool of the problem ({', '.join(names)}), got {excerpt(unknown[0])}"
        )
    else:
        pools = [pool.model_dump(exclude_unset=True) | sizes.get(pool.name, {}) for pool in problem.pools]
    return replace_fields(problem, pools=pools)


def _pool_fields(text: str, problem: Problem, count: int) -> tuple[str, dict[str, Any]]:
    """Parse `NAME=SIZE@ADDRESS,cost=COST`, one of `count`, into a pool's name and fields; only SIZE is required.

    With `,direct=false`, operations cannot use the pool; SIZE may then be left out.
    """
    text, is_indirect, rest = text.partition(",direct=false")
    text, has_cost, cost = f"{text}{rest}".partition(",cost=")
    if has_cost and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", cost) is None:
        raise OptionError.from_rule(
            "capacity", f"cost must be a number below 1000000000, such as 4, got {excerpt(cost)}"
        )
    if re.search(r",\s*[a-z]", text):
        rule = f"must be [NAME=]SIZE[@ADDRESS][,cost=COST][,direct=false], got {excerpt(text)}"
        raise OptionError.from_rule("capacity", rule)
    fields: dict[str, Any] = {"cost": float(cost)} if has_cost else {}
    if is_indirect:
        fields["direct"] = False
        text = text if "=" in text or not text or text[0].isdigit() or text == UNLIMITED else f"{text}={UNLIMITED}"
    name, equals, rest = text.rpartition("=")
    size_text, at, address = rest.partition("@")
    name, size = named_size(f"{name}{equals}{size_text}", problem, count)
    if not at:
        return name, {"size": size, **fields}
    if address.strip("0") and re.fullmatch(r"[0-9a-fA-F]*[0-9ac-fAC-F]", address):
        rule = "must be hexadecimal, or have a unit"
        raise OptionError.from_rule("capacity", f"base address {rule}, got {address} (did you mean 0x{address}?)")
    try:
        return name, {"size": size, "base_address": parse_size(address), **fields}
    except ValueError as error:
        raise OptionError.from_rule("capacity", f"base address {error}") from None


def named_size(text: str, problem: Problem, count: int, option: str = "capacity") -> tuple[str, int | None]:
    """Parse a text `NAME=SIZE`, one of `count`, into a pool's name and size; the size is None for `unlimited`.

    A size without a name applies to the only pool. Raises OptionError.
    """
    name, equals, size = text.rpartition("=")
    if not equals:
        if count > 1 and len(problem.pools) == 1 and problem.pools != (Pool(),):
            raise OptionError.from_rule(option, f"must be given only once if there is one pool, got {count} values")
        if len(problem.pools) > 1 or count > 1:
            meant = f"{problem.pools[0].name}={text}" if len(problem.pools) > 1 else f"NAME={text}"
            meant = f"{text}=SIZE, or {text}={UNLIMITED}" if text.isidentifier() and text != UNLIMITED else meant
            raise OptionError.from_rule(
                option, f"must name a pool if there are several, got {excerpt(text)} (did you mean {meant}?)"
            )
        name = problem.pools[0].name
    elif not name:
        raise OptionError.from_rule(option, f"must name its pool before the =, got {excerpt(text)}")
    try:
        return name, None if size == UNLIMITED else parse_size(size)
    except ValueError as error:
        raise OptionError.from_rule(option, f"{error}") from None


_PART = r"(?a)([0-9]{1,6}(?:\.[0-9]{1,6})?) ?(%?)"


def share_of(text: str) -> float | None:
    """Return the share that a text such as 10% or 0.1 denotes, as a number; None for any other text."""
    match = re.fullmatch(_PART, text.strip())
    return None if match is None else float(match[1]) / (100 if match[2] else 1)


def gap_text(gap: float | None) -> str:
    """Return a gap as a percentage rounded up, so that a positive gap never appears as 0."""
    return "unknown" if gap is None else f"{ceil(Fraction(repr(float(gap))) * 10_000) / 100:.2f}%"


def rule_error(rule: str) -> PydanticCustomError:
    """Return a pydantic error whose message is the sentence of a broken rule."""
    return PydanticCustomError("rule", "{rule}", {"rule": rule})


def _parsed_ratio(value: object) -> object:
    """Return the ratio that a limit such as +10% or 1.1 denotes.

    It is a multiple of the multiplications of layer-by-layer execution. Values other than texts are returned unchanged.
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    share = share_of(text.removeprefix("+"))
    if share is not None and text.endswith("%"):
        return 1 + share
    if share is None or "." not in text or text.startswith("+"):  # A plain 10 could mean 10 % or ten times.
        meant = "" if share is None else f" (did you mean +{text.removeprefix('+')}%?)"
        raise rule_error(f"must be a share such as +10%, or a multiple such as 1.1, got {excerpt(value)}{meant}")
    return share


MacsRatio = Annotated[float, BeforeValidator(_parsed_ratio), Field(ge=1, le=1000, allow_inf_nan=False)]
"""A number of multiplications, as a multiple of the number for layer-by-layer execution."""
