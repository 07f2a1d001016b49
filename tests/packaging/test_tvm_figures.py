"""The figures of networks in TVM: the pages have what the program computes from the measured rows."""

from __future__ import annotations

from lab.tvm_figures import documents, percent_saved, read_rows, summary


def test_the_tvm_pages_show_the_figures_of_the_measured_rows() -> None:
    for path, text in documents(read_rows()).items():
        assert path.read_text() == text, "run python -m lab.tvm_figures"


def test_median_of_an_even_number_of_networks_is_the_mean_of_the_two_middle_values() -> None:
    rows = read_rows()
    saved = sorted(percent_saved((float(row["tvm"]), float(row["memplan"])) for row in rows))
    assert len(saved) % 2 == 0
    low, high = saved[len(saved) // 2 - 1 : len(saved) // 2 + 1]
    assert f" {(low + high) / 2:.1f} % of a function's storages" in summary(rows).replace("\n", " ")
    assert f"{low:.1f}" != f"{high:.1f}"
    most = {**rows[0], "network": "new", "tvm": 1000, "memplan": 1, "bound": 1}
    assert "99.9 % at most." in summary([*rows, most]).replace("\n", " ")
