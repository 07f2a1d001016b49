"""Operations on numpy arrays of rows x columns x channels, computed element by element from their definitions."""

from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.float64]


def run(kind: str, attributes: dict[str, Any], inputs: list[Image], out: tuple[int, int, int]) -> Image:
    """Return the result of an operation with all weights 1, so that it depends on every element that it reads."""
    made = np.zeros(out)
    x = inputs[0]
    if kind in ("conv2d", "depthwise_conv2d", "max_pool2d", "average_pool2d"):
        (kr, kc), (sr, sc), (dr, dc) = (attributes[name] for name in ("kernel", "strides", "dilations"))
        top, left = attributes["pads"][:2]
        for r, c, i, j in np.ndindex(out[0], out[1], kr, kc):
            row, column = r * sr - top + i * dr, c * sc - left + j * dc
            if 0 <= row < x.shape[0] and 0 <= column < x.shape[1]:
                made[r, c] += x[row, column].sum()
    elif kind == "conv2d_transpose":
        (kr, kc), (sr, sc) = attributes["kernel"], attributes["strides"]
        dr, dc = attributes.get("dilations", (1, 1))
        top, left = attributes["pads"][:2]
        for r, c, i, j in np.ndindex(x.shape[0], x.shape[1], kr, kc):
            row, column = r * sr - top + i * dr, c * sc - left + j * dc
            if 0 <= row < out[0] and 0 <= column < out[1]:
                made[row, column] += x[r, c].sum()
    elif kind == "resize":
        rows, columns = (_taps(attributes, x.shape[axis], out[axis]) for axis in (0, 1))
        for r, c in np.ndindex(out[0], out[1]):
            for i in rows[r]:
                for j in columns[c]:
                    made[r, c] += x[i, j]
    elif kind == "depth_to_space":
        for r, c in np.ndindex(out[0], out[1]):
            made[r, c] = x[r // attributes["block"], c // attributes["block"]].sum()
    elif kind == "space_to_depth":
        for r, c in np.ndindex(x.shape[0], x.shape[1]):
            made[r // attributes["block"], c // attributes["block"]] += x[r, c].sum()
    elif kind == "concat":
        made = np.concatenate(inputs, axis=attributes["axis"] - 1)
    elif kind == "pad":
        top, left = attributes["pads"][1:3]
        made[top : top + x.shape[0], left : left + x.shape[1]] = x
    elif kind == "slice":
        (r, c), (sr, sc) = attributes["starts"], attributes["steps"]
        made[:] = x[r::sr, c::sc][: out[0], : out[1]]
    elif kind == "matmul":
        made[:] = x.sum(axis=2, keepdims=True) * (inputs[1].sum() if len(inputs) > 1 else 1)
    elif kind == "softmax":
        made[:] = x.sum(axis=2, keepdims=True)
    else:
        made[:] = sum(np.broadcast_to(one, out) for one in inputs)
    return made


def _taps(attributes: dict[str, Any], size: int, out: int) -> list[set[int]]:
    """Return, for each row of a resized image, the rows of the input that it reads."""
    found = []
    for y in range(out):
        place = {
            "asymmetric": Fraction(y * size, out),
            "half_pixel": Fraction((2 * y + 1) * size - out, 2 * out),
            "align_corners": Fraction(y * (size - 1), out - 1) if out > 1 else Fraction(0),
        }[attributes["coordinates"]]
        low = floor(place)
        rows = {low, low + (place > low)} if attributes["mode"] == "linear" else {low + (2 * (place - low) >= 1)}
        if attributes["mode"] == "nearest" and attributes["coordinates"] == "asymmetric":
            rows = {low}
        found.append({min(max(row, 0), size - 1) for row in rows})
    return found
