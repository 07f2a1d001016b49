"""Readers of ONNX models and of ONNX Runtime's allocation plans, and writer of reordered models."""
