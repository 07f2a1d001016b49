"""Importers and exporters for TensorFlow Lite, ONNX and ExecuTorch, with the memory rules of their runtimes."""
