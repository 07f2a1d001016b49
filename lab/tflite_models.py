"""Make TensorFlow Lite models with random weights, to try the importer on: `python -m lab.tflite_models FOLDER`.

Run by hand, where tensorflow is installed; nothing of memplan needs it. Four are those of the MLPerf Tiny benchmark,
rebuilt by their layers; each is written as float32 and as int8. With --small, it writes those in tests/models instead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.keras import Model, Sequential, applications, layers
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2


def autoencoder() -> Model:
    """Detect anomalies: dense layers with normalisation."""
    widths = (128, 128, 128, 128, 8, 128, 128, 128, 128)
    hidden = [
        part
        for width in widths
        for part in (layers.Dense(width), layers.BatchNormalization(), layers.Activation("relu"))
    ]
    return Sequential([layers.Input((640,)), *hidden, layers.Dense(640)])


def resnet8() -> Model:
    """Classify images of 32 x 32: three residual blocks."""
    image = layers.Input((32, 32, 3))
    x = _normal(layers.Conv2D(16, 3, padding="same")(image))
    for width, stride in ((16, 1), (32, 2), (64, 2)):
        past = x if stride == 1 else layers.Conv2D(width, 1, strides=stride, padding="same")(x)
        x = _normal(layers.Conv2D(width, 3, strides=stride, padding="same")(x))
        x = layers.BatchNormalization()(layers.Conv2D(width, 3, padding="same")(x))
        x = layers.Activation("relu")(layers.add([past, x]))
    x = layers.Flatten()(layers.AveragePooling2D(8)(x))
    return Model(image, layers.Dense(10, activation="softmax")(x))


def keyword_spotter() -> Model:
    """Spot words: convolutions, each channel for itself and then all of them."""
    sound = layers.Input((49, 10, 1))
    x = _normal(layers.Conv2D(64, (10, 4), strides=2, padding="same")(sound))
    for _ in range(4):
        x = _normal(layers.DepthwiseConv2D(3, padding="same")(x))
        x = _normal(layers.Conv2D(64, 1, padding="same")(x))
    x = layers.Flatten()(layers.AveragePooling2D((25, 5))(x))
    return Model(sound, layers.Dense(12, activation="softmax")(x))


def persons() -> Model:
    """Find persons in images of 96 x 96: a quarter of MobileNet."""
    image = layers.Input((96, 96, 3))
    x = _normal(layers.Conv2D(8, 3, strides=2, padding="same")(image))
    widths = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1))
    for width, stride in widths:
        x = _normal(layers.DepthwiseConv2D(3, strides=stride, padding="same")(x))
        x = _normal(layers.Conv2D(width, 1, padding="same")(x))
    x = layers.Flatten()(layers.Conv2D(2, 1)(layers.AveragePooling2D(3)(x)))
    return Model(image, layers.Softmax()(x))


def _normal(x: tf.Tensor) -> tf.Tensor:
    return layers.Activation("relu")(layers.BatchNormalization()(x))


MODELS: dict[str, Callable[[], Model]] = {
    "ad_autoencoder": autoencoder,
    "ic_resnet8": resnet8,
    "kws_dscnn": keyword_spotter,
    "vww_mobilenet_v1_025_96": persons,
    "mobilenet_v2_224": lambda: applications.MobileNetV2(weights=None),
    "mobilenet_v3_small": lambda: applications.MobileNetV3Small((224, 224, 3), weights=None),
    "efficientnet_b0": lambda: applications.EfficientNetB0(weights=None),
}


class Small(tf.Module):
    """Functions that the tests read: a view, a choice, a loop, and a variable."""

    def __init__(self) -> None:
        super().__init__()
        self.total = tf.Variable(tf.zeros((1, 4)))

    @tf.function(input_signature=[tf.TensorSpec((1, 4, 4), tf.float32)])
    def view(self, x: tf.Tensor) -> tf.Tensor:
        """Look at the input in another shape."""
        return tf.nn.softmax(tf.reshape(tf.nn.relu(x), (2, 8)))

    @tf.function(input_signature=[tf.TensorSpec((1, 4), tf.float32), tf.TensorSpec((), tf.bool)])
    def choice(self, x: tf.Tensor, is_first: tf.Tensor) -> tf.Tensor:
        """Take one of two ways."""
        return tf.cond(is_first, lambda: tf.nn.softmax(tf.sin(x)), lambda: tf.cos(x)) + x

    @tf.function(input_signature=[tf.TensorSpec((1, 4), tf.float32)])
    def loop(self, x: tf.Tensor) -> tf.Tensor:
        """Go through a body until a sum is large."""
        return tf.while_loop(lambda y: tf.reduce_sum(y) < 100.0, lambda y: (tf.exp(tf.sin(y)) + y,), (x,))[0]

    @tf.function(input_signature=[tf.TensorSpec((1, 4), tf.float32)])
    def variable(self, x: tf.Tensor) -> tf.Tensor:
        """Add to what is kept from call to call."""
        self.total.assign_add(tf.sin(x))
        return tf.cos(self.total)


def write_small(folder: Path) -> None:
    """Write the models of the tests."""
    module = Small()
    for name in ("view", "choice", "loop", "variable"):
        run = getattr(module, name).get_concrete_function()
        converter = tf.lite.TFLiteConverter.from_concrete_functions([run], module)
        converter.experimental_enable_resource_variables = True
        (folder / f"{name}.tflite").write_bytes(converter.convert())


def converted(model: Model, *, is_int8: bool) -> bytes:
    """Return the model as TensorFlow Lite's converter writes it."""
    shape = (1, *model.inputs[0].shape[1:])

    def samples() -> Iterator[list[np.ndarray]]:
        generator = np.random.default_rng(0)
        for _ in range(2):
            yield [generator.random(shape, dtype=np.float32)]

    # The converter wants constants where Keras has variables.
    run = tf.function(lambda x: model(x, training=False)).get_concrete_function(tf.TensorSpec(shape, tf.float32))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([convert_variables_to_constants_v2(run)])
    if is_int8:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = samples
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    return converter.convert()


def main(folder: Path, *options: str) -> None:
    """Write all models to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if "--small" in options:
        write_small(folder)
        return
    for name, build in MODELS.items():
        tf.keras.utils.set_random_seed(0)
        model = build()
        for is_int8 in (False, True):
            suffix = "int8" if is_int8 else "f32"
            (folder / f"{name}_{suffix}.tflite").write_bytes(converted(model, is_int8=is_int8))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
