"""Compare `fits` with twelve training steps that others measured: `python -m lab.measured_steps` (needs torch, timm).

The measured bytes are those of itu-rad/GPUMemNet (commit f01eb059, Results_plotter_for_paper/data.csv), as seen from
outside of the process, with the device's context and libraries. The steps are in float32, with SGD with momentum. Sizes
of images are not published: they are 224 x 224 here, and 299 x 299 for inception. Networks with mostly depthwise or
small convolutions need almost no scratch memory. So the device context in a row is the least difference between
measured and reserved bytes of the other networks.
"""

import sys

_MIB = 1 << 20
_RUNS = {
    ("vgg16", 224): ((32, 8222), (128, 24408)),
    ("resnet50", 224): ((32, 5262), (128, 15120)),
    ("legacy_xception", 224): ((32, 7202), (128, 22978)),
    ("mobilenetv2_100", 224): ((32, 4544), (128, 12578)),
    ("efficientnet_b0", 224): ((32, 4958), (128, 13832)),
    ("inception_v3", 299): ((32, 6346), (128, 19018)),
}
"""The measured MiB of each batch, by the name of a network in timm and the side of an image."""


def reserved_mib(name: str, side: int, batch: int) -> tuple[float, float]:
    """Return (MiB that a training step reserves without scratch memory of convolutions, MiB with it)."""
    import timm
    import torch
    from torch.nn.functional import cross_entropy

    from memplan.extensions.torch.inside.fits import fits

    def momentum(parameters: object) -> torch.optim.Optimizer:
        return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)

    with torch.device("meta"):
        model = timm.create_model(name)
        images, classes = torch.empty(batch, 3, side, side), torch.zeros(batch, dtype=torch.long)
    answer = fits(model, images, loss=cross_entropy, targets=(classes,), optimizer=momentum, time_limit_s=0.1)
    return (answer.reserved or 0) / _MIB, (answer.reserved_most or 0) / _MIB


def main() -> int:
    """Print a row for each run; return 1 if an estimate is below the measured bytes."""
    runs = [(*network, *run) for network, both in _RUNS.items() for run in both]
    found = {(name, batch): reserved_mib(name, side, batch) for name, side, batch, _ in runs}
    below = 0
    for name, _, batch, measured in runs:
        context = min(size - found[other, n][0] for other, _, n, size in runs if other != name)
        plain, most = (reserved + context for reserved in found[name, batch])
        below += most < measured
        parts = (f"{size:,.0f} ({size / measured - 1:+.0%})" for size in (plain, most))
        print(f"| {name}, {batch} | {measured:,} | {' | '.join(parts)} |")
    print(f"{below} of {len(runs)} below the measured bytes")
    return int(below > 0)


if __name__ == "__main__":
    sys.exit(main())
