"""TensorFlow Lite models, and arenas of TFLite Micro."""
