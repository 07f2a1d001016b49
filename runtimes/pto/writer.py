"""Writer of PTO kernels with a plan's addresses: a constant before each tile, a base in each reserved buffer."""

import re
from collections import Counter
from collections.abc import Mapping

from memplan.planner.errors import FormatError, InvalidPlanError, excerpt
from memplan.planner.foreign.layout import VerifiedLayout
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.verify.verifier import verify
from memplan.runtimes.pto.reader import homes_of_tiles, last_dump, read
from memplan.runtimes.rows import is_pto
from memplan.runtimes.stablehlo.mlir import COMMENT

_PLACE = re.compile(
    r'func\.func[^@{\n]{0,200}@(?P<kernel>"[^"]*"|[\w.$-]+)'
    r"|(?P<tile>%[\w$.-]+)(?P<op>\s*=\s*pto\.alloc_tile\b)(?P<address>\s*addr\s*=\s*%[\w$.-]+)?"
    r"|pto\.reserve_buffer\s*\{(?P<said>[^}]*)\}"
)
_NAME, _BASE, _AUTO = (
    re.compile(r'name = "([^"]+)"'),
    re.compile(r"(?:, ?)?\bbase = \d+"),
    re.compile(r"\bauto = true\b"),
)


def write_addresses(layout: VerifiedLayout, _stem: str) -> Mapping[str, bytes]:
    """Return the text of PTO kernels with the plan's address in each tile and each reserved buffer.

    Unused tiles get address 0. Raises FormatError for a file that is not PTO, and InvalidPlanError if reading the
    written kernels does not give the plan again.
    """
    if layout.model is None or not is_pto(layout.model):
        raise FormatError("problem: must be PTO kernels (a .pto file) if the target is pto")
    if b"= pto.alloc_tile" not in layout.model:
        raise FormatError("kernels: must contain tiles (pto.alloc_tile) to place, got only memref.alloc")
    given = layout.model.decode(errors="surrogateescape")
    start = len(given) - len(last_dump(given))
    offset = {str(row.id).partition("/")[2]: row.offset for row in layout.buffers}
    home = homes_of_tiles(layout.model)
    comments = [match.span() for match in COMMENT.finditer(given, start) if match[1] is None]
    prefix = "%at"
    while f"{prefix}_" in given:
        prefix += "_"
    parts, at, kernel, count = [given[:start]], start, "", Counter[str]()

    def label_of(name: str) -> str:
        label = kernel + name
        count[label] += 1
        return label + (f"#{count[label]}" if count[label] > 1 else "")

    for number, match in enumerate(_PLACE.finditer(given, start)):
        if any(low <= match.start() < high for low, high in comments):
            continue
        parts.append(given[at : match.start()])
        at = match.end()
        if match["kernel"]:
            kernel = f"{match['kernel']}/"
            parts.append(match[0])
        elif match["tile"]:
            label = label_of(match["tile"])
            line = given[given.rfind("\n", 0, match.start()) + 1 : match.start()]
            constant, indent = f"{prefix}_{number}", line if not line.strip() else ""
            parts.append(f"{constant} = arith.constant {offset.get(home.get(label, label), 0)} : i64\n{indent}")
            parts.append(f"{match['tile']}{match['op']} addr = {constant}")
        else:
            name = _NAME.search(match["said"])
            label = label_of(name[1] if name else "reserved")
            said = match["said"]
            if label in offset:
                said = f"{_AUTO.sub('auto = false', _BASE.sub('', said))}, base = {offset[label]}"
            parts.append(match[0].replace(match["said"], said))
    written = "".join([*parts, given[at:]]).encode(errors="surrogateescape")
    _refuse_another_plan(written, offset)
    return {"": written}


def _refuse_another_plan(written: bytes, offset: Mapping[str, int]) -> None:
    """Raise InvalidPlanError unless reading the written kernels gives a valid plan with the given offsets."""
    again = read(written, ModelOptions())
    plan = again.own_plan
    if plan is None or (broken := verify(again.problem, plan)):
        why = "no plan" if plan is None else broken[0].message
        raise InvalidPlanError(f"kernels: must give the same plan when the written file is read: {why}")
    for row in plan.placements:
        name = str(row.id).partition("/")[2]
        if offset.get(name) != row.offset:
            raise InvalidPlanError(f"kernels: must place {excerpt(name)} at {offset.get(name)}, got {row.offset}")
