"""Models of TensorFlow Lite and ONNX, programs of ExecuTorch: read, planned as by their runtimes, written back."""
