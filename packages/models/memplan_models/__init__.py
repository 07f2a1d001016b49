"""Models of TensorFlow Lite and ONNX: how they are read, planned by their runtimes, and written back."""
