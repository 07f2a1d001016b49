"""Reads a problem for check.py from memplan's JSON or from CSV without quotes; ambiguous input is refused."""
# docs/certificates.md lists the fields of a problem that this file reads.

import json, re
from fractions import Fraction

Refused = type("Refused", (Exception,), {})
MOST, SHIFTS = 2**62, {"half-open": 0, "closed": 1}
WORDS = {
    "kind": ("read", "write"),
    "format": ("memplan/1",),
    "interval": (*SHIFTS,),
    "objective": ("peak", "fit", "cost", ["peak", "cost"]),
}
# The letter after a field's name is the kind of its value (see KINDS); a question mark after it allows null.
PROBLEM = (
    "format=w? name=S? interval=w buffers=l conflicts=P may_share=P bank=l reuse=l together=l pools=l? objective=w"
    " read_with=o?"
)
POOL = "name=s size=z? alignment=a base_address=b cost=c reserved=R bank_size=a? device=i?"
BUFFER = """id=i size=b start=t? end=t? lifetimes=T? alignment=a pools=N? offset=b? traffic=b? hint=b? alias_of=i?
    alias_offset=b? relative=o? no_cross=a? offset_mod=o? forbid_pools=n"""
# The fields that only the claim `moves` allows.
MOVES, POOL_OF_MOVES, BUFFER_OF_MOVES = " moves=m", " direct=B", " accesses=A? given=s? kept_in=s?"
ACCESS, RULES = "time=t kind=w? bytes=b?", "lead=b bytes_per_step=a?"
COLUMNS = {"id": "id", "size": "size", "lower": "start", "start": "start", "upper": "end", "end": "end"}
COLUMNS |= {"alignment": "alignment", "offset": "offset"}


def require(is_so, *rule):
    """Raise ValueError with the words of `rule` unless the condition `is_so` is true."""
    if not is_so:
        raise ValueError(*rule)


def is_integer_in(low, high):
    """Return a function that tests whether a value is an integer from `low` to `high`, both included."""
    return lambda value: type(value) is int and low <= value <= high


def is_list_of(is_right, least=0, most=2**63):
    """Return a test for a list of `least` to `most` entries; `is_right` tests each entry."""
    return lambda value: type(value) is list and least <= len(value) <= most and all(map(is_right, value))


def is_name(value):
    """Return True if a value is a non-empty string."""
    return type(value) is str and value != ""


KINDS = {
    name: lambda value, kind=kind: type(value) is kind
    for name, kind in (("S", str), ("l", list), ("o", dict), ("B", bool))
}
KINDS |= {
    "a": is_integer_in(1, MOST),
    "b": is_integer_in(0, MOST),
    "d": is_integer_in(-MOST, MOST),
    "z": is_integer_in(0, 2**63 - 1),
}
KINDS |= {"t": is_integer_in(-(2**63), 2**63 - 1), "s": is_name, "n": is_list_of(is_name), "N": is_list_of(is_name, 1)}
KINDS["i"] = lambda value: is_name(value) or is_integer_in(-(2**63), 2**63 - 1)(value)
KINDS["c"] = lambda value: type(value) in (int, Fraction) and 0 <= value <= 10**30
KINDS |= {
    "I": is_list_of(KINDS["i"], 1),
    "P": is_list_of(is_list_of(KINDS["i"], 2, 2)),
    "R": is_list_of(is_list_of(KINDS["b"], 2, 2)),
}
KINDS["A"] = is_list_of(lambda value: KINDS["t"](value) or bool(fields(value, ACCESS, "time")))
KINDS["m"] = lambda value: type(value) is bool or fields(value, RULES) == value
KINDS["T"] = is_list_of(is_list_of(KINDS["t"], 2, 2), 1)


def fields(value, spec, *required):
    """Return the non-null fields of a JSON object. Raises ValueError for fields that `spec` does not allow."""
    kinds = dict(word.split("=") for word in spec.split())
    require(type(value) is dict, "must be an object, got", value)
    for name, entry in value.items():
        kind = kinds.get(name)
        require(kind, "must not have unknown fields, got", name)
        is_right = entry in WORDS[name] if kind[0] == "w" else KINDS[kind[0]](entry)
        require(is_right or (entry is None and kind[1:]), "must have a valid value, got", name, entry)
    fields = {name: entry for name, entry in value.items() if entry is not None}
    require(fields.keys() >= {*required}, "must have the fields", *required)
    return fields


def unique_object(pairs):
    """Return a JSON object as a dict. Raises ValueError if a key occurs twice."""
    require(len(dict(pairs)) == len(pairs), "each key of an object must occur once")
    return dict(pairs)


def integer(text):
    """Return the integer in a JSON number. Raises ValueError for -0 and for more than 40 characters."""
    require(text != "-0" and len(text) <= 40, "must be an integer other than -0 of at most 40 characters, got", text)
    return int(text)


def decimal(text):
    """Return the JSON number in `text` as an exact fraction."""
    require(
        text[0] != "-" and len(text) <= 40 and re.search(r"^[^eE]*([eE][+-]?[0-9]{1,3})?$", text),
        "must be a decimal number, got",
        text,
    )
    return Fraction(text)


def constant(text):
    """Raise ValueError for NaN and infinities, which JSON does not define."""
    raise ValueError("must be a finite number, got", text)


def half_open(start, end, shift):
    """Return a lifetime as a half-open range of steps; `shift` is 1 for an inclusive end, which is then raised by 1."""
    require(start < end + shift <= 2**63 - 1, "a lifetime must end after its start, got", start, end)
    return start, end + shift


def chain_ends(after):
    """Return (last row, distance to it) for each row i, where the last row is the end of row i's chain.

    In a chain, each row is placed relative to the next: `after[i]` is (next row, distance), or None at the end.
    """
    chains_ = {}
    for i in range(len(after)):
        path = []
        while i not in chains_ and after[i]:
            path.append(i)
            i = after[i][0]
            require(len(path) <= len(after), "aliases and relative offsets must not form a cycle")
        root, above = chains_.get(i, (i, 0))
        for j in reversed(path):
            above += after[j][1]
            chains_[j] = root, above
    return [chains_.get(i, (i, 0)) for i in range(len(after))]


def read_json(text, interval, moves):
    """Return the checked fields of a JSON problem, including the derived fields that `read` describes."""
    data = json.loads(
        text, object_pairs_hook=unique_object, parse_int=integer, parse_float=decimal, parse_constant=constant
    )
    if "\\u" in text:
        json.dumps(data, ensure_ascii=False, default=str).encode()  # Refuse lone surrogates by a ValueError.
    data = fields(data, PROBLEM + MOVES * moves, "buffers")
    data["pools"] = [fields(pool, POOL + POOL_OF_MOVES * moves) for pool in data.get("pools") or [{}]]
    rows = [fields(row, BUFFER + BUFFER_OF_MOVES * moves, "id", "size") for row in data["buffers"]]
    data["buffers"] = rows
    index, names = {row["id"]: i for i, row in enumerate(rows)}, {pool.get("name", "default") for pool in data["pools"]}
    require(len(index) == len(rows) and len(names) == len(data["pools"]), "ids and pool names must be unique")
    uses = [fields(use, "buffers=I weight=c?", "buffers")["buffers"] for use in data.get("bank", ())]
    data["reuse"] = [fields(row, "pairs=P cost=a", "pairs", "cost") for row in data.get("reuse", ())]
    uses += [pair for row in data["reuse"] for pair in row["pairs"]]
    named = [*data.get("conflicts", ()), *data.get("may_share", ()), *data.get("together", ()), *uses]
    require(all(map(KINDS["I"], named)) and all(name in index for some in named for name in some), "ids must exist")
    require(
        all(first != second for first, second in data.get("may_share", ())), "a pair must have two different buffers"
    )
    data["interval"] = data.get("interval") or interval or "half-open"
    shift = SHIFTS[data["interval"]]
    for row in rows:
        check_row(row, index, names)
        lives = row.get("lifetimes") or [[row.get("start"), row.get("end")]] * ("end" in row)
        row["lives"] = [half_open(start, end, shift) for start, end in lives]
    after = [(index[row["alias_of"]], row.get("alias_offset", 0)) if "alias_of" in row else None for row in rows]
    for row, inside in zip(rows, after):
        require(not inside or inside[1] + row["size"] <= rows[inside[0]]["size"], "an alias must be inside its buffer")
    ties = [(index[row["relative"]["to"]], 0) if "relative" in row else None for row in rows]
    for row, root, end in zip(rows, chain_ends(after), chain_ends([a or b for a, b in zip(ties, after)])):
        row["root"], row["group"] = root, end[0]
    return data


def check_row(row, index, names):
    """Raise ValueError if two fields of a buffer contradict each other."""
    require(("start" in row) == ("end" in row), "a lifetime must have both a start and an end")
    require("start" not in row or "lifetimes" not in row, "lifetimes must not be given with start and end")
    if mod := row.get("offset_mod"):
        fields(mod, "modulus=a remainder=b", "modulus", "remainder")
        require(mod["remainder"] < mod["modulus"], "a remainder must be below its modulus")
    if tie := row.get("relative"):
        require(
            fields(tie, "to=i offset=d", "to", "offset")["to"] in index, "relative must name a buffer of the problem"
        )
    if "alias_of" in row:
        require(
            row["alias_of"] in index and not tie and "no_cross" not in row,
            "an alias must name a buffer and have no relative or no_cross",
        )
    require("alias_of" in row or "alias_offset" not in row, "alias_offset must be given with alias_of")
    asked, barred = {*row.get("pools", names)}, {*row.get("forbid_pools", ())}
    require(asked | barred <= names and asked - barred, "pools must exist, and one must be allowed")
    require({row[name] for name in ("given", "kept_in") if name in row} <= asked - barred, "pools must be allowed")
    require("offset" not in row or len(asked - barred) == 1, "a pinned buffer must have exactly one allowed pool")


def read_csv(text, interval, moves):
    """Check a CSV table of buffers, and return its fields and the derived fields that `read` describes."""
    require(
        not re.search('["\0-\x09\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)', text), "must have no quotes or control characters"
    )
    table = [line.removesuffix("\r").split(",") for line in text.split("\n") if line.strip(" \r")]
    head = [cell.strip(" ") for cell in table[0]] if table else []
    require({*head} <= COLUMNS.keys(), "a table must not have unknown columns, got", *head)
    columns = [COLUMNS[name] for name in head]
    require(len({*columns}) == len(head) and {*columns} >= {"id", "size", "start", "end"}, "columns must occur once")
    interval = interval or ("closed" if "end" in head else "half-open")
    shift, rows = SHIFTS[interval], []
    for cells in table[1:]:
        require(len(cells) == len(columns), "a row must have one cell per column, got", *cells)
        cells_by_name = ((name, cell_of(name, cell)) for name, cell in zip(columns, cells))
        row = {name: value for name, value in cells_by_name if value is not None}
        rows.append(
            row | {"lives": [half_open(row["start"], row["end"], shift)], "root": (len(rows), 0), "group": len(rows)}
        )
    require(len({row["id"] for row in rows} - {""}) == len(rows), "ids must be present and unique")
    return {"buffers": rows, "interval": interval}


def cell_of(name, cell):
    """Return the value of a cell in column `name`, or None for an empty cell of an optional column."""
    if name == "id":
        return cell
    cell = cell.strip(" ")
    if not cell and name in ("alignment", "offset"):
        return None
    require(re.fullmatch("0|-?[1-9][0-9]{0,18}", cell), "must be an integer without leading zeros, got", cell)
    require(
        KINDS[{"start": "t", "end": "t", "alignment": "a"}.get(name, "b")](int(cell)), "must be in range, got", cell
    )
    return int(cell)


def read(text, interval=None, moves=False):
    """Return the fields of a problem as a dict; absent fields are omitted. A CSV table has no pools.

    With `moves`, its buffers may have the fields of buffers that move.

    Each buffer also gets half-open `lives`, its `root` (outermost containing buffer, distance) and its tied `group`.
    """
    text = text.removeprefix("\ufeff")
    return (read_json if text.lstrip(" \t\r\n")[:1] == "{" else read_csv)(text, interval, moves)
