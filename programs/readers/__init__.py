"""Code that the readers of models share: the draft of a program, the kinds of operations, and the element types."""
