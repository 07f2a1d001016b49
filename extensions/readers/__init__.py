"""The parts that readers of models share: the draft of a program, the kinds of operations, and element types."""
