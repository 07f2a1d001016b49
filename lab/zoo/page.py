"""What is published of the zoo's table: a page that stands alone, and two sentences of the README."""

from __future__ import annotations

import re
from pathlib import Path

from lab.zoo import table
from lab.zoo.planners import PLANNERS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
_MARKED = re.compile(r"(<!-- zoo -->\n).*?(<!-- end zoo -->)", re.DOTALL)
_TEMPLATE = Path(__file__).with_name("page.html")


def sentences(rows: list[table.Cells]) -> str:
    """Return what the table says, in two sentences."""
    told = table.Summary.of(rows, PLANNERS)
    ranked = sorted(told.wastes.items(), key=lambda item: (item[1][0], -item[1][2]))
    least, most = ranked[0], ranked[-1]
    worst = max(told.wastes.items(), key=lambda item: item[1][1])
    share = f"{told.plans_proved:,} of {told.planned:,} plans and {told.orders_proved:,} of {told.traced:,} orders"
    first = (
        f"In [the zoo](lab/zoo/zoo.html), {told.models:,} of {told.tried:,} architectures of timm, torchvision and "
        f"transformers that were tried are traced without weights, for inference, a training step, or both: {share} "
        f"are proved to be the least, {told.small:,} of {told.certificates:,} certificates of plans have fewer than "
        f"1,000 bytes, and another order needs less in {told.orders_gain:,} of {told.traced:,}."
    )
    once = (
        f" and once {worst[1][1]:.0%} above" if worst == most else f", and {worst[0]} is once {worst[1][1]:.0%} above"
    )
    second = (
        f"Of {len(told.wastes)} planners in use, {least[0]} is the nearest, with the least in {least[1][2]:,} of "
        f"{told.traced:,} and {least[1][1]:.1%} above it at worst, and {most[0]} the farthest, in the median "
        f"{most[1][0]:.1%}{once}."
    )
    return f"{first} {second}"


def wrapped(text: str, width: int = 120) -> str:
    """Return a text in lines of at most so many characters."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".lstrip()
    return "\n".join(lines)


def page(text: str) -> str:
    """Return the page of a table, given as the text of its CSV file."""
    names = ",".join(f'"{name}"' for name in PLANNERS)
    template = _TEMPLATE.read_text(encoding="utf-8")
    return template.replace("/* planners */", names).replace(
        "/* table */", text.replace("</", "<\\/").replace("`", "'")
    )


def in_readme(text: str, rows: list[table.Cells]) -> str:
    """Return the README with the sentences of a table."""
    return _MARKED.sub(lambda marks: f"{marks[1]}{wrapped(sentences(rows))}\n{marks[2]}", text)


def publish(path: Path) -> None:
    """Write the page beside a table, and its sentences into the README."""
    path.with_suffix(".html").write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
    README.write_text(in_readme(README.read_text(encoding="utf-8"), table.read(path)), encoding="utf-8")
