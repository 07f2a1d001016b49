"""The names of the reference planners whose peaks the zoo compares with the proved minimum."""

PLANNERS = (
    *("tflite-micro-greedy", "executorch-greedy", "onnxruntime-memory-pattern", "tvm-greedy-by-size", "xla-best-fit"),
    *("openvino-memory-solver", "mlir-best-fit", "relay-storage-tokens", "ggml-allocator", "luminal-arena"),
    *("nntrainer-v3", "tinygrad-tlsf", "ttlang-multi-order-decreasing", "xnnpack-memory-planner"),
)
