"""`fits` beside training steps that others measured: `python -m lab.measured_steps [run]`, which needs torch and timm.

The measured bytes, and what GPUMemNet, FakeTensor and Horus say of them, are those of itu-rad/GPUMemNet (commit
f01eb059, Results_plotter_for_paper/data.csv), in MB as nvidia-smi counts them, contexts and libraries included. Its
networks of images are trained here as timm's scripts do by default: float32, SGD with momentum, cross-entropy. Sizes of
images are not published: they are 224 x 224 here, and 299 x 299 for inception, at which Xception would pass what was
measured. Lengths of texts are not published either: the six transformers have no row. `run` asks `fits` anew.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

FILE = Path(__file__).with_suffix(".csv")
PAGE = Path(__file__).parents[1] / "docs" / "torch.md"
MARKS = "<!-- measured -->\n", "<!-- end measured -->"
_MB = 1 << 20
_NETWORKS = {
    "vgg16": ("vgg16", 224),
    "resnet50": ("resnet50", 224),
    "Xception": ("legacy_xception", 224),
    "mobilenetV2": ("mobilenetv2_100", 224),
    "efficientnet": ("efficientnet_b0", 224),
    "inception": ("inception_v3", 299),
}
"""From names of GPUMemNet to those of timm, and the side of an image."""


@dataclass(frozen=True)
class Run:
    """A training run: what was measured, what estimators say, and `reserved` of `fits`, in MB."""

    model: str
    batch: int
    measured: float
    gpumemnet: float
    faketensor: float
    horus: float
    reserved: float


def runs() -> list[Run]:
    """Return the runs on record."""
    with FILE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return [Run(row[0], int(row[1]), *map(float, row[2:])) for row in rows]


def reserved_mb(name: str, side: int, batch: int) -> float:
    """Return what torch's allocator reserves for a training step of a network of timm, in MB."""
    import timm
    import torch
    from torch.nn.functional import cross_entropy

    from memplan.extensions.torch.inside.fits import fits

    with torch.device("meta"):
        model = timm.create_model(name)
        images = torch.empty(batch, 3, side, side)
        classes = torch.zeros(batch, dtype=torch.long)

    def momentum(parameters: object) -> torch.optim.Optimizer:
        return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)

    answer = fits(model, images, loss=cross_entropy, targets=(classes,), optimizer=momentum, time_limit_s=0.1)
    return (answer.reserved or 0) / _MB


def lines(rows: list[Run]) -> str:
    """Return the table of the runs: `reserved` with the least and the most that the other networks had beside it."""
    head = ("run", "measured", "memplan", "memplan, most", "GPUMemNet", "FakeTensor", "Horus")
    table = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    errors: dict[str, list[float]] = {name: [] for name in head[2:]}
    for row in rows:
        beside = [each.measured - each.reserved for each in rows if each.model != row.model]
        estimates = (row.reserved + min(beside), row.reserved + max(beside), row.gpumemnet, row.faketensor, row.horus)
        parts = [value / row.measured - 1 for value in estimates]
        for name, part in zip(head[2:], parts, strict=True):
            errors[name].append(part)
        cells = [f"{value:,.0f} ({part:+.0%})" for value, part in zip(estimates, parts, strict=True)]
        table.append(f"| {row.model}, {row.batch} | {row.measured:,.0f} | {' | '.join(cells)} |")
    middle = [f"{median(map(abs, each)):.1%}, {max(map(abs, each)):.1%}" for each in errors.values()]
    table.append(f"| error: median, most | | {' | '.join(middle)} |")
    below = [f"{sum(part < 0 for part in each)} of {len(rows)}" for each in errors.values()]
    table.append(f"| says less than measured | | {' | '.join(below)} |")
    return "\n".join(table) + "\n"


def on_page(text: str, rows: list[Run]) -> str:
    """Return the page with the table."""
    begin, rest = text.split(MARKS[0])
    return f"{begin}{MARKS[0]}{lines(rows)}{MARKS[1]}{rest.split(MARKS[1])[1]}"


def main() -> int:
    """Ask `fits` anew where that is wanted, and write the table into its page."""
    rows = runs()
    if sys.argv[1:] == ["run"]:
        asked = [round(reserved_mb(*_NETWORKS[row.model], row.batch), 1) for row in rows]
        made = [[*[*vars(row).values()][:-1], mb] for row, mb in zip(rows, asked, strict=True)]
        with FILE.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([[*Run.__annotations__], *made])
    PAGE.write_text(on_page(PAGE.read_text(encoding="utf-8"), runs()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
