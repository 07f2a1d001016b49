"""Schedule scripts: points of a cascade in the directives of loop-scheduling languages such as Halide."""

from collections.abc import Iterator

from memplan.extensions.cascade.answer import CascadePoint
from memplan.extensions.cascade.regions.regions import CascadeRegion, Mode


def schedule_script(point: CascadePoint) -> bytes:
    """Return the script of a point: each region's tile size, and the loops that compute and store its operations.

    A rolling tensor is computed in every step, and stored outside of the loop in a fold (ring of rows and columns).
    Without the directives `store_at` and `fold`, the values are the same, but each step recomputes its inputs.
    """
    lines = [f"# {point.peak} bytes, {point.macs} multiplications ({100 * (point.macs_ratio - 1):+.2f} %)"]
    for number, region in enumerate(point.cascade.regions):
        lines += _lines_of_region(point, number, region)
    return "".join(f"{line}\n" for line in lines).encode()


def _lines_of_region(point: CascadePoint, number: int, region: CascadeRegion) -> Iterator[str]:
    """Yield the lines of the schedule script for one region."""
    graph, last = point.cascade.graph, region.end - 1
    sink = f"op{graph.origin(last)}"
    if region.kind == "whole":
        yield f"{sink}.compute_root()  # r{number}, {graph.operations[last].kind or 'operation'}"
        return
    yield f"# r{number}: {region.kind}, {region.n_steps} steps"
    # The schedule rounds a step within a row up to a whole row, too large for the ring buffers, so omit these buffers.
    stride = region.stride or (0, 0)
    is_finer, (height, width) = min(stride) < 0, (max(1, size) for size in stride)
    loop, cut = "x", f"tile(rows, columns, {height}, {width}, y, x)"
    if region.kind == "channels":
        loop, cut = "k", f"split(channels, {height}, k)"
    elif region.kind == "rows" and region.steps[1] == 1:
        loop, cut = "y", f"split(rows, {height}, y)"
    yield f"{sink}.compute_root().{cut}"
    for v in range(last - 1, region.first_operation - 1, -1):
        tensor, name = graph.operations[v].outputs[0], f"op{graph.origin(v)}"
        hold = region.buffer_by_tensor[tensor]
        outside = {"rows": "root", "panels": f"{sink}, y"}.get(region.kind)
        stored: dict[Mode, str] = {"whole": ".store_root()", "recompute": "", "roll": ""}
        if outside is not None and hold.kept:
            fold = "" if is_finer else f".fold({hold.rows}, {hold.columns})"
            stored["roll"] = f".store_{'root()' if outside == 'root' else f'at({outside})'}{fold}"
        yield f"{name}.compute_at({sink}, {loop}){stored[hold.mode]}"
