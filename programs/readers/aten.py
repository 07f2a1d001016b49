"""The kinds of ATen operations, which are the operations of ExecuTorch programs and PyTorch graphs.

Source: torch 2.13, aten's native_functions.yaml.
"""

from memplan.programs.readers.vocabulary import kind_of, kinds_by_name

_KINDS = kinds_by_name(
    {
        "matmul": "mm bmm",
        "fully_connected": "addmm linear",
        "concat": "cat",
        "max_pool2d": "max_pool2d_with_indices",
        "average_pool2d": "avg_pool2d",
        "clip": "hardtanh clamp",
        "hard_swish": "hardswish",
        "hard_sigmoid": "hardsigmoid",
        "softmax": "_softmax",
        "transpose": "permute t permute_copy",
        "reshape": "view _unsafe_view view_copy",
        "cast": "_to_copy",
        "reduce_mean": "mean",
        "reduce_sum": "sum",
        "reduce_max": "amax",
        "layer_norm": "native_layer_norm",
        "batch_norm": "_native_batch_norm_legit_no_training",
        "pad": "constant_pad_nd",
        "slice": "slice_copy",
        "split": "split_with_sizes split_with_sizes_copy",
        "gather": "embedding",
        "copy": "clone",
    }
)


def kind_of_aten(name: str) -> str | None:
    """Return the kind of an ATen operation, such as `add` for `aten::add.Tensor`, or None if it is unknown."""
    base = name.rpartition("::")[2].partition(".")[0].rstrip("_") if "::" in name else ""
    return kind_of(base, _KINDS) if base else None
