"""`python -m integrations.nntrainer.table CHECKOUT TRAIN [MODEL...]`: train models on nntrainer's plans and memplan's.

CHECKOUT is nntrainer after edit.py, and TRAIN is train.cpp, linked with its libraries. Models are those of nntrainer's
applications that need no file but their own, and a few more of the layers that it has. Losses, weights and outputs must
be equal bit by bit, and no plan larger, or it ends with an error. Writes table.json, whose rows are of the tensors of
training and of inference.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path
from typing import Any

from integrations.tables import record, row_of

BATCH = 4
_PLAN = re.compile(r"memplan: (\d+) buffers, nntrainer (\d+), memplan (\d+), bound (\d+); ns: (\d+), (\d+)")
APPLICATIONS = {
    "LogisticRegression": "LogisticRegression/res/LogisticRegression.ini",
    "DeepQ": "ReinforcementLearning/DeepQ/res/DeepQ.ini",
    "ProductRatings": "ProductRatings/res/product_ratings_model.ini",
    "Layers: Linear": "Layers/res/Model_A_Linear.ini",
    "Layers: Conv": "Layers/res/Model_A_Conv.ini",
    "Layers: LSTM": "Layers/res/LSTM.ini",
    "MNIST": "MNIST/res/mnist.ini",
    "AlexNet": "AlexNet/res/alex.ini",
    "VGG": "VGG/res/vgg.ini",
    "ResNet-18": "Resnet/res/resnet18.ini",
}
_HEAD = "[Model]\ntype=NeuralNetwork\nloss=mse\n[Optimizer]\ntype=adam\nlearning_rate=0.001\n"


_CONV = "kernel_size=3,3 padding=same activation=relu"
_ATTENTION = (
    "a{0} multi_head_attention input_layers=x{0},x{0},x{0} num_heads=4",
    "s{0} addition input_layers=x{0},a{0}",
    "n{0} layer_normalization axis=3",
    "f{0} fully_connected unit=256 activation=relu",
    "g{0} fully_connected unit=64",
    "t{0} addition input_layers=n{0},g{0}",
    "x{1} layer_normalization axis=3",
)
_DENSE = (f"c{{0}} conv2d filters=8 {_CONV}", "x{1} concat input_layers=x{0},c{0} axis=1")
_DOWN = (f"x{{1}} conv2d filters=8 {_CONV}", "p{0} pooling2d pool_size=2,2 stride=2,2 pooling=max")
_UP = (
    "u{0} upsample2d upsample=nearest kernel_size=2,2",
    "j{0} concat input_layers=u{0},x{1} axis=1",
    f"d{{0}} conv2d filters=8 {_CONV}",
)


def _blocks(block: tuple[str, ...], numbers: range) -> list[str]:
    return [layer.format(k, k + 1) for k in numbers for layer in block]


_IMAGE = "x0 input input_shape=3:32:32"
OWN = {
    "lstm": ["x input input_shape=1:16:32", *_blocks(("r{0} lstm unit=64 return_sequences=true",), range(3))],
    "transformer": ["x0 input input_shape=1:32:64", *_blocks(_ATTENTION, range(4))],
    "unet": [_IMAGE, *_blocks(_DOWN, range(3)), *_blocks(_UP, range(2, -1, -1))],
    "densenet": [_IMAGE, *_blocks(_DENSE, range(6)), "flat flatten", "y fully_connected unit=10"],
}
"""Layers, each its name, type and properties; one that names no input reads the layer before it."""


def description(name: str, checkout: Path) -> str:
    """Return the model as nntrainer reads it."""
    if name in APPLICATIONS:
        text = (checkout / "Applications" / APPLICATIONS[name]).read_text()
        return text.replace("Type=output", "Type=multiout")  # as the layer is called since that file was written
    rows = [layer.split() for layer in OWN[name]]
    return _HEAD + "".join(f"[{row[0]}]\ntype={row[1]}\n" + "".join(f"{each}\n" for each in row[2:]) for row in rows)


def run(program: str, file: Path, mode: str) -> tuple[str, str]:
    """Return the line of train.cpp, and standard error."""
    names = {"NNTRAINER_MEMPLAN": mode, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [str(Path(program).resolve()), str(file), str(BATCH)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | names, cwd=file.parent)
    if done.returncode or not math.isfinite(float(done.stdout.split()[-3].rstrip(","))):
        raise SystemExit(f"{file.stem}: exit status {done.returncode}: {done.stdout[-300:]} {done.stderr[-1000:]}")
    return done.stdout.splitlines()[-1], done.stderr


def rows(name: str, checkout: Path, program: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.ini")
        file.write_text(description(name, checkout))
        own, ours = (run(program, file, mode) for mode in ("0", "log"))
    if own[0] != ours[0]:
        raise SystemExit(f"{name}: nntrainer: {own[0]}; memplan: {ours[0]}")
    made = []
    for part, log in zip(("training", "inference"), ours[1].split("training\n")[-1].split("inference\n"), strict=True):
        plans = _PLAN.findall(log)
        planned = plans[-1][:4]  # what was planned last are the tensors; the weights are there from the first on
        buffers, before, after, bound = map(int, planned)
        times = [sorted(int(plan[k]) / 1000 for plan in plans if plan[:4] == planned) for k in (4, 5)]
        own_us, us = ([round(each[len(each) // 2], 1), round(each[len(each) * 99 // 100], 1)] for each in times)
        made.append(row_of(name, buffers, before, after, bound, own_us, us, part=part))
    return made


def main() -> None:
    checkout, program, *names = sys.argv[1:]
    made = (rows(name, Path(checkout), program) for name in names or (*APPLICATIONS, *OWN))
    record(Path(__file__).with_name("table.json"), chain.from_iterable(made))


if __name__ == "__main__":
    main()
