"""The parts shared by readers of models: the draft of a program, the kinds of operations, and element types."""
