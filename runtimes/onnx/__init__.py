"""Readers of ONNX models and of ONNX Runtime's allocation plans, and a writer of reordered models."""
