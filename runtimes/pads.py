"""The sizes of paddings that model formats state only by a keyword, such as SAME."""

from collections.abc import Sequence


def equal_output_pads(
    sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], *, more_behind: bool
) -> tuple[int, ...]:
    """Return pads (before all axes, then after) for one output per stride; if `more_behind`, an odd one goes after."""
    before, behind = [], []
    for size, taps, stride, dilation in zip(sizes, kernel, strides, dilations, strict=False):
        reach = (taps - 1) * dilation + 1
        total = max(0, (-(-size // max(1, stride)) - 1) * stride + reach - size)
        small, large = total // 2, total - total // 2
        before.append(small if more_behind else large)
        behind.append(large if more_behind else small)
    return (*before, *behind)
