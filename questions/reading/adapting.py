"""Adaptation of a problem to a machine: pool sizes, constants, pins, reserved ranges, copies, and execution order."""

from collections.abc import Sequence
from itertools import combinations
from math import lcm
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from memplan.planner.errors import Option, OptionError, excerpt
from memplan.planner.errors.did_you_mean import did_you_mean
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.model.problem import Pool, Problem, replace_fields, replace_profile
from memplan.planner.model.problem_fields import Moves
from memplan.planner.model.rows import WireValue, tuple_from_list
from memplan.planner.model.sizes import parse_size, set_capacities

Weights = Literal["flash", "ram", "choose"]
Texts = Annotated[tuple[str, ...], BeforeValidator(tuple_from_list)]


def _texts_of_sizes(value: object) -> object:
    values = tuple(value) if isinstance(value, list | tuple) else (value,) if isinstance(value, int | str) else value
    if not isinstance(values, tuple):
        return values
    return tuple(str(each) if isinstance(each, int) and not isinstance(each, bool) else each for each in values)


SizeTexts = Annotated[Texts, BeforeValidator(_texts_of_sizes)]
Row = dict[str, Any]
PLAIN_MOVES = "lead=0"
"""The value of the option `moves` that says no more than that buffers may move."""
MovesText = Annotated[str, BeforeValidator(lambda value: PLAIN_MOVES if value in (True, "true") else value)]
"""The rules for copies as a text, or true."""
RAM, FLASH = Pool.model_construct(name="ram"), Pool.model_construct(name="flash")
"""The default pools for a model whose constants are planned too."""


class ProblemOptions(WireValue):
    """The options that adapt a problem to a machine, on every entrance."""

    capacity: SizeTexts = Field(
        (),
        description="The size of the pool: bytes, 64kB or 1MiB, its base address, and the cost of moving a byte."
        " With names, one for each pool, in order of preference: sram=128KiB@0x20000000, psram=8MiB,cost=4.",
    )
    weights: Weights | None = Field(
        None,
        description="Plan the constants of a model as well: in the last pool (flash), together with all other "
        "buffers (ram), or so that the fewest bytes are read from slow pools (choose).",
    )
    pin: Texts = Field(
        (), description="Pin a buffer to an offset, a pool, or both: input=0, input=sram, or input=sram:0x100."
    )
    reserve: Texts = Field(
        (), description="Keep a range of a pool free: 4KiB at its start, 4KiB@0x1000, or sram=4KiB@0x1000."
    )
    copies: Texts = Field(
        (),
        description="Plan this many copies of a buffer, such as input=2. They are alive all the time, so that one "
        "can be filled while another is used. A number alone is for all inputs and outputs of a "
        "model.",
    )
    order: Texts = Field(
        (),
        description="Promise that the program has finished with A before B begins. Once a pair is given, two buffers"
        " share bytes only if a chain of such pairs keeps them in order. If the file lists reuse, this applies only to"
        " the buffers in that list. May be repeated.",
    )

    in_place: bool = Field(
        False,
        description="Let element-wise operations of a model write over an input of the same size that"
        " nothing reads later.",
    )
    spare: Texts = Field(
        (),
        description="With in_place, keep this buffer as it is to the end, such as an input that is read again. May be"
        " repeated.",
    )

    moves: MovesText | None = Field(
        None,
        description="Let buffers move between pools, so that the fewest bytes are moved: the steps that a copy takes,"
        " and the most bytes of the copies that begin in one step, as in lead=1,bytes_per_step=4KiB.",
    )

    @property
    def adaptations(self) -> tuple[str, ...]:
        """The names of the given options that adapt the problem, except pool sizes."""
        names = ("weights", "pin", "reserve", "copies", "order", "in_place", "spare", "moves")
        return tuple(name for name in names if getattr(self, name))


def refuse_spare(spared: Sequence[str]) -> None:
    """Raise OptionError if `spare` is given without `in_place`, which lets operations overwrite inputs."""
    if spared:
        rule = ("applies only with ", Option("in_place"), f", got {excerpt(spared[0])}")
        raise OptionError.from_rule("spare", *rule, way="give both, or leave it out")


def adapt_problem(problem: Problem, read: ImportedProblem | None, options: ProblemOptions) -> Problem:
    """Return the problem adapted by options; `read` is the imported model. Raises OptionError or ProblemError."""
    if options.in_place:
        if read is None:
            rule = "applies only to models and operations, got a file of lifetimes"
            raise OptionError.from_rule("in_place", rule, way="leave it out")
        # A double-buffered tensor alternates between two copies from run to run, so nothing may overwrite it in place.
        copied = [name for text in options.copies if (name := text.rpartition("=")[0])]
        problem = read.problem_in_place((*options.spare, *copied))
    else:
        refuse_spare(options.spare)
    if options.moves is not None:  # Only such problems may have pools that are not direct.
        problem = replace_fields(problem, buffers=_rows_without_gaps(problem), moves=True, objective="cost")
    if options.capacity:
        problem = set_capacities(problem, options.capacity)
    if options.weights is not None:
        problem = _add_weights(problem, read, options.weights)
    if options.copies:
        problem = _add_copies(problem, read, options.copies)
    if options.reserve:
        problem = _add_reserved(problem, options.reserve)
    if options.order:
        problem = _apply_order(problem, options.order)
    if options.pin:
        problem = _add_pins(problem, options.pin)
    return _add_moves(problem, read, options) if options.moves is not None else problem


def persistent_buffers(problem: Problem, read: ImportedProblem | None, options: ProblemOptions) -> tuple[str, ...]:
    """Return the ids of an adapted problem's buffers that keep their bytes between runs: state, constants, copies."""
    if read is None and not options.copies:
        return ()
    texts = [text.rpartition("=")[0] for text in options.copies]
    copied = {name for text in texts for name in ([text] if text else _inputs_and_outputs(read))}
    kept = set() if read is None else {*read.state_ids, *(str(row["id"]) for row in (read.constants or ()))}

    def is_copy(name: str) -> bool:
        first = name.rpartition("#")[0] if name.rpartition("#")[2].isdecimal() else name
        return not copied.isdisjoint((name, first, name.partition("/")[2], first.partition("/")[2]))

    return tuple(name for name in map(str, problem.buffers.ids) if name in kept or is_copy(name))


def align_problem(problem: Problem, alignment: int) -> Problem:
    """Return the problem with each buffer also aligned to `alignment` bytes; aliases keep their inner offsets."""
    is_free = [
        i not in problem.buffers.aliases and i not in problem.buffers.rules["relative"]
        for i in range(len(problem.buffers))
    ]
    return _replace_buffers(
        problem,
        (
            row | ({"alignment": lcm(row.get("alignment", 1), alignment)} if is_mine else {})
            for row, is_mine in zip(_rows(problem), is_free, strict=True)
        ),
    )


def _add_weights(problem: Problem, read: ImportedProblem | None, weights: Weights) -> Problem:
    """Return the problem with a model's constants as buffers that are alive all the time; raises OptionError.

    If there are several pools, the other buffers may no longer use the last one.
    """
    if read is None or (constants := read.constants) is None:
        raise OptionError("weights: applies only to models and operations, got a file of lifetimes")
    pools = (RAM,) if problem.pools == (Pool(),) else problem.pools
    if weights != "ram" and len(pools) == 1:
        pools = (*pools, FLASH)
    names = [pool.name for pool in pools]
    writable = names[:-1] or names
    homes = {"flash": names[-1:], "ram": writable, "choose": names}[weights]
    start, end = _whole_span(problem)
    rows = [row | {"pools": [name for name in row.get("pools", names) if name in writable]} for row in _rows(problem)]
    if stuck := next((row for row in rows if not row["pools"]), None):
        raise OptionError(
            f"weights: buffer {excerpt(stuck['id'])} must be allowed in a pool other than the last ({names[-1]})"
        )
    rows += [{**one, "pools": homes, "start": start, "end": end} for one in constants]
    changed = _replace_buffers(problem.model_copy(update={"pools": pools}), rows)
    return replace_profile(changed, "speed") if weights == "choose" else changed


def _add_copies(problem: Problem, read: ImportedProblem | None, texts: Sequence[str]) -> Problem:
    """Return the problem with NUMBER copies of a buffer, all alive all the time, for each text NAME=NUMBER.

    The buffer itself counts as a copy. Without NAME, all inputs and outputs of the program are copied. Raises
    OptionError.
    """
    rows, (start, end) = {str(row["id"]): row for row in _rows(problem)}, _whole_span(problem)
    seen: dict[int | str, str] = {}
    for text in texts:
        name, _, count = text.rpartition("=")
        if not (count.isascii() and count.isdecimal() and 0 < int(count[:4]) <= 64):
            raise OptionError(f"copies: must be NAME=NUMBER with a number from 1 to 64, got {excerpt(text)}")
        for one in [name] if name else _inputs_and_outputs(read):
            row = _find_row("copies", one, rows)
            _refuse_second("copies", row, seen, text)
            if "alias_of" in row or "relative" in row:
                raise OptionError(f"copies: must name a buffer that is not inside another one, got {excerpt(one)}")
            if row.keys().isdisjoint(("start", "lifetimes")):
                raise OptionError(f"copies: must name a buffer that has lifetimes, got {excerpt(one)}")
            row.pop("lifetimes", None)
            row |= {"start": start, "end": end}
            copies = [f"{row['id']}#{k}" for k in range(2, int(count) + 1)]
            rows |= {copy: row | {"id": copy} for copy in copies}
    return _replace_buffers(problem, rows.values())


def _rows_without_gaps(problem: Problem) -> Sequence[Row]:
    """Return the fields of all buffers, each alive from its first time to its last; a view as long as its buffer."""
    rows, table = _rows(problem), problem.buffers
    for i, row in enumerate(rows):
        spans = table.intervals(i) or table.intervals(problem.roots.get(i, (i, 0))[0])
        if len(spans) > 1 or (spans and not table.intervals(i)):
            row.pop("lifetimes", None)
            row |= {"start": min(start for start, _ in spans), "end": max(end for _, end in spans)}
    return rows


def _add_moves(problem: Problem, read: ImportedProblem | None, options: ProblemOptions) -> Problem:
    """Return the problem whose buffers may move, with the accesses of a program's operations.

    A buffer that is given lies in the last pool that it may use, or in the last of these that is not direct. Raises
    OptionError.
    """
    if options.copies:
        rule = f"must be left out with copies, whose uses are unknown, got {excerpt(options.moves)}"
        raise OptionError.from_rule("moves", rule)
    uses, rows = {} if read is None else read.uses, _rows(problem)
    for i, row in enumerate(rows):
        if (use := uses.get(str(row["id"]))) is None or "accesses" in row:
            continue
        if use.accesses:
            row.pop("traffic", None)
            row["accesses"] = [
                {"time": time, "kind": "write" if is_write else "read"}
                | ({"bytes": count} if count != row["size"] else {})
                for time, is_write, count in use.accesses
            ]
        pools = sorted((not problem.pools[q].direct, q) for q in problem.allowed_pools(i))
        if pools and use.is_given and "alias_of" not in row:
            row["given"] = problem.pools[pools[-1][1]].name
            row |= {"kept_in": row["given"]} if use.is_kept else {}
    return replace_fields(problem, buffers=rows, moves=_rules_of_moves(options.moves or ""), objective="cost")


def _rules_of_moves(text: str) -> Row:
    """Return the rules for copies that a text such as `lead=1,bytes_per_step=4KiB` states; raises OptionError."""
    rules: Row = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name not in Moves.model_fields or name in rules:
            rule = f"must be lead=STEPS, bytes_per_step=SIZE or both, got {excerpt(text)}"
            raise OptionError.from_rule("moves", rule, way="write --moves after the files, or --moves=lead=0")
        rules[name] = _read_bytes("moves", value)
    return rules


def _inputs_and_outputs(read: ImportedProblem | None) -> tuple[str, ...]:
    """Return the ids of a program's input and output buffers; raises OptionError if the file has no program."""
    if read is None or (ends := read.ends) is None:
        raise OptionError("copies: must be NAME=NUMBER for a file without inputs and outputs")
    return ends


def _add_reserved(problem: Problem, texts: Sequence[str]) -> Problem:
    """Return the problem with reserved ranges from texts [NAME=]SIZE[@OFFSET]; raises OptionError."""
    ranges: dict[str, list[tuple[int, int]]] = {pool.name: list(pool.reserved) for pool in problem.pools}
    seen: set[tuple[str, tuple[int, int]]] = set()
    for text in texts:
        name, equals, rest = text.rpartition("=")
        size, _, offset = rest.partition("@")
        if not equals and len(ranges) > 1:
            raise OptionError(
                f"reserve: must name a pool if there are several, as NAME=SIZE@OFFSET, got {excerpt(text)}"
            )
        if equals and name not in ranges:
            raise OptionError(f"reserve: must name a pool of the problem ({', '.join(ranges)}), got {excerpt(name)}")
        if ":" in rest:
            first, size = rest.split(":", 1)
            way = f"write {size}@{first} for {size} bytes from offset {first} on"
            raise OptionError(f"reserve: must be [POOL=]SIZE@OFFSET, got {excerpt(text)}: {way}")
        pool, new = name or problem.pools[0].name, (_read_bytes("reserve", offset or "0"), _read_bytes("reserve", size))
        if (pool, new) in seen:
            raise OptionError(f"reserve: must be given once for each range, got {excerpt(text)} again: leave one out")
        seen.add((pool, new))
        # The file may reserve this range already, so add it only once.
        ranges[pool] += [new] * (new not in ranges[pool])
    pools = [pool.model_dump(exclude_unset=True) | {"reserved": ranges[pool.name]} for pool in problem.pools]
    return replace_fields(problem, pools=pools)


def _apply_order(problem: Problem, texts: Sequence[str]) -> Problem:
    """Return the problem with a conflict for each pair of buffers that the ordered pairs do not keep apart.

    Each text A,B orders two buffers. Buffers are kept apart if one lifetime ends before the other begins, and a chain
    of ordered pairs leads from the earlier buffer to the later one. If the problem has `reuse` pairs, only these may
    get a conflict. Raises OptionError.
    """
    position = {str(name): i for i, name in enumerate(problem.buffers.ids)}
    after = [0] * len(position)  # Bit j of entry i is 1 if buffer j is after buffer i.
    for text in texts:
        commas = [k for k, letter in enumerate(text) if letter == ","]
        ends = next(((a, b) for k in commas if {a := text[:k], b := text[k + 1 :]} <= position.keys()), None)
        if ends is None or ends[0] == ends[1]:
            some = f", such as {','.join([*position][:2])}" if len(position) > 1 else ""
            more = "; best applies only to operations, on the command line"
            raise OptionError(f"order: must be A,B with the ids of two buffers{some}, got {excerpt(text)}{more}")
        after[position[ends[0]]] |= 1 << position[ends[1]]
    for k in range(len(after)):
        after = [row | (after[k] if row >> k & 1 else 0) for row in after]
    ids, spans = problem.buffers.ids, [problem.buffers.intervals(i) for i in range(len(after))]
    listed = [(problem.index[a], problem.index[b]) for row in problem.reuse for a, b in row.pairs]
    apart = []
    for i, j in listed or combinations(range(len(after)), 2):
        first, then = (i, j) if min(spans[i], default=(0, 0)) <= min(spans[j], default=(0, 0)) else (j, i)
        is_done = max((end for _, end in spans[first]), default=0) <= min((at for at, _ in spans[then]), default=0)
        # If the lifetimes of two buffers alternate, no order separates them, so add a conflict.
        if problem.root_of(ids[i]) != problem.root_of(ids[j]) and not (is_done and after[first] >> then & 1):
            apart.append((ids[i], ids[j]))
    return replace_fields(problem, conflicts=[*problem.conflicts, *apart])


def _add_pins(problem: Problem, texts: Sequence[str]) -> Problem:
    """Return the problem with buffers pinned to offsets or pools, from texts NAME=PLACE; raises OptionError."""
    rows, pins = {str(row["id"]): row for row in _rows(problem)}, dict[int | str, str]()
    for text in texts:
        name, equals, place = text.rpartition("=")
        pool, _, offset = place.rpartition(":")
        if not equals:
            meant = f" (did you mean {'='.join(text.rsplit(':', 1))}?)" if ":" in text else ""
            forms = "NAME=OFFSET, NAME=POOL or NAME=POOL:OFFSET"
            raise OptionError(f"pin: must be {forms}, got {excerpt(text)}{meant}")
        row = _find_row("pin", name, rows)
        _refuse_second("pin", row, pins, text)
        if place in problem.pool_index:
            row["pools"] = [place]
            continue
        if pool and pool not in problem.pool_index:
            raise OptionError(
                f"pin: must name a pool of the problem ({', '.join(problem.pool_index)}), got {excerpt(pool)}"
            )
        row.update({"offset": _read_pinned_offset(problem, offset, text)} | ({"pools": [pool]} if pool else {}))
    return _replace_buffers(problem, rows.values())


def _read_pinned_offset(problem: Problem, offset: str, text: str) -> int:
    """Return the offset of a pin in bytes; raises OptionError for a word that is neither a size nor a pool."""
    try:
        return parse_size(offset)
    except ValueError as error:
        if any(letter.isdigit() for letter in offset[:1]):
            raise OptionError.from_rule("pin", f"{error}") from None
        pools = ", ".join(problem.pool_index)
        rule = f"must be a pool of the problem ({pools}), an offset such as 4096, or POOL:OFFSET, got {excerpt(text)}"
        raise OptionError.from_rule("pin", f"{rule}{did_you_mean(offset, problem.pool_index)}") from None


def _find_row(option: str, name: str, rows: dict[str, Row]) -> Row:
    """Return the row of the buffer `name`, with or without its function; raises OptionError unless one row matches."""
    matches = (
        [rows[name]] if name in rows else [row for row_name, row in rows.items() if row_name.partition("/")[2] == name]
    )
    if len(matches) != 1:
        near = ", ".join(excerpt(name_in_rows) for name_in_rows in [*rows][:3])
        sentence = "must name one buffer, not several" if matches else f"must name a buffer, such as {near}"
        way = ": name each by itself" if "," in name else ""
        raise OptionError.from_rule(option, f"{sentence}, got {excerpt(name)}{way}")
    return matches[0]


def _refuse_second(option: str, row: Row, given: dict[int | str, str], text: str) -> None:
    """Record that an option names a buffer; raises OptionError if the same option already named it."""
    if row["id"] in given:
        rule = f"must be given once for each buffer, got {given[row['id']]} and {text}"
        raise OptionError.from_rule(option, f"{rule}, which are both for {excerpt(row['id'])}: leave one out")
    given[row["id"]] = text


def _read_bytes(option: str, text: str) -> int:
    """Return the bytes of a size such as `64KiB`; raises OptionError that names the option."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise OptionError.from_rule(option, f"{error}") from None


def _whole_span(problem: Problem) -> tuple[int, int]:
    table = problem.buffers
    return (int(table.start.min()), int(table.end.max())) if len(table.start) else (0, 1)


def _rows(problem: Problem) -> list[Row]:
    return [problem.buffers.fields(i) for i in range(len(problem.buffers))]


def _replace_buffers(problem: Problem, rows: Any) -> Problem:
    return replace_fields(problem, buffers=list(rows))
