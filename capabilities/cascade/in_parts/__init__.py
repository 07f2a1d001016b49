"""Models whose operations run on parts of their tensors, as a cascade says, in runtimes that know nothing of it."""
