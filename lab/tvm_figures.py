"""Write the figures of networks in TVM: `python -m lab.tvm_figures`, from the measured rows in `lab/tvm_rows.csv`.

It replaces the text between `<!-- tvm rows -->` and `<!-- end -->` in docs/tvm.md and integrations/tvm/README.md. A row
has the bytes of the storages of one network in TVM 0.27, by TVM's plan and by memplan's, and times in microseconds:

- `tvm`, `memplan`, `bound`: the bytes of `tvm.compile`.
- `fused_*`: the bytes of TVM's fused pipeline for a CPU; `fused_ordered` is in the order of `order=True`.
- `lifted`: the bytes of that pipeline if kernels' temporaries are planned. TVM's plan needs the largest `workspace`
  of a kernel in addition, which is 0 if temporaries have symbolic sizes.

All outputs were bit-identical.
"""

from __future__ import annotations

import csv
import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median

Rows = list[Mapping[str, str | float]]
_ROOT = Path(__file__).parents[1]
_SHOWN = 14
_BEGIN, _END = "<!-- tvm rows -->\n", "<!-- end -->"


def read_rows() -> Rows:
    """Return the rows of all networks, whose columns other than `network` are numbers."""
    with Path(__file__).with_name("tvm_rows.csv").open(newline="") as file:
        return [
            {name: text if name == "network" else float(text) for name, text in row.items()}
            for row in csv.DictReader(file)
        ]


def percent_saved(pairs: Iterable[tuple[float, float]]) -> list[float]:
    """Return, for each pair of numbers, by how many percent the second is smaller than the first."""
    return [100 - 100 * after / before for before, after in pairs]


def _columns(rows: Rows, *names: str) -> list[tuple[float, ...]]:
    """Return the values of the named columns of all rows, as one tuple per row."""
    return [tuple(float(row[name]) for name in names) for row in rows]


def summary(rows: Rows) -> str:
    """Return the paragraphs of docs/tvm.md that summarize all networks."""
    compiled = percent_saved((a, b) for a, b in _columns(rows, "tvm", "memplan"))
    fused = percent_saved((a, b) for a, b in _columns(rows, "fused_tvm", "fused_memplan"))
    lifted = percent_saved((a + w, b) for a, w, b in _columns(rows, "fused_tvm", "workspace", "lifted") if w)
    ordered = percent_saved((a, b) for a, b in _columns(rows, "fused_memplan", "fused_ordered"))
    slower = median(after / before for before, after in _columns(rows, "run_us", "lifted_run_us"))
    if not all(a == b and c == d for a, b, c, d in _columns(rows, "memplan", "bound", "fused_memplan", "fused_bound")):
        raise SystemExit("tvm_rows.csv: each plan of memplan must equal its lower bound, as docs/tvm.md says")
    paragraphs = (
        f"{len(rows)} networks were built and run with TVM's plan and with memplan's plan; all outputs were"
        " bit-identical. The peaks of all memplan plans equal the lower bound. In `tvm.compile`, memplan saves"
        f" {median(compiled):.1f} % of a function's storages in the median, and {max(compiled):.1f} % at most. The"
        f" median is {median(fused):.1f} % in TVM's fused pipeline for a CPU, and {median(lifted):.1f} % if temporaries"
        f" of kernels are planned (`lift=True, nests=True`; {len(lifted)} networks). `order=True` saves bytes in"
        f" {sum(each > 0 for each in ordered)} networks, up to {max(ordered):.1f} %"
        " ([integrations/tvm](../integrations/tvm/README.md)).",
        "Lifting temporaries has a price: kernels get more arguments, and LLVM can no longer assume that these do not"
        f" overlap. In the median, a lifted program takes {slower:.2f} times as long.",
        "`python -m lab.tvm_figures` computes these figures from the measured rows (`lab/tvm_rows.csv`).",
    )
    return "\n".join(_wrapped_text(each) for each in paragraphs)


def table(rows: Rows) -> str:
    """Return the table of integrations/tvm/README.md: the networks that save the largest share of their bytes."""
    ranked = sorted(rows, key=lambda row: float(row["memplan"]) / float(row["tvm"]))[:_SHOWN]
    lines = [
        _wrapped_text(
            f"The table shows the {_SHOWN} of {len(rows)} models that save the largest share of their bytes; `=` marks"
            " a plan whose peak equals the live-set bound. All outputs were bit-identical."
        ),
        "| model | buffers | its planner | memplan | bound | saved |",
        "|---|---|---|---|---|---|",
    ]
    for row in ranked:
        before, after, bound = (int(float(row[name])) for name in ("tvm", "memplan", "bound"))
        mark = " =" if after == bound else ""
        saved = percent_saved([(before, after)])[0]
        lines.append(
            f"| {row['network']} | {row['tensors']:.0f} | {before:,} | {after:,}{mark} | {bound:,} | {saved:.1f} % |"
        )
    slower = median(after / before for before, after in _columns(rows, "tvm_plan_us", "memplan_plan_us"))
    note = (
        "The byte counts were measured in the `tvm.compile` pipeline of TVM 0.27. In the median, planning by memplan"
        f" takes {slower:.1f} times as long as by TVM, including the run of TVM's planner. Networks whose names begin"
        " with `any_` ran with five sequence lengths or batch sizes. `python -m lab.tvm_figures` writes this text from"
        " the rows of all networks (`lab/tvm_rows.csv`), which programs of commit 3a961589 measured"
        " (`integrations/tvm`)."
    )
    return "\n".join([*lines, "", _wrapped_text(note)])


def _wrapped_text(text: str) -> str:
    """Return a paragraph broken into lines of at most 120 characters."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def documents(rows: Rows) -> dict[Path, str]:
    """Map each document to its new text, in which the figures of `rows` replace the old ones."""
    made = {_ROOT / "docs" / "tvm.md": summary(rows), _ROOT / "integrations" / "tvm" / "README.md": table(rows)}
    return {
        path: re.sub(f"(?<={_BEGIN}).*(?={_END})", new.replace("\\", r"\\"), path.read_text(), flags=re.DOTALL)
        for path, new in made.items()
    }


if __name__ == "__main__":
    for path, text in documents(read_rows()).items():
        path.write_text(text)
