"""The constraint kinds, one module each: checks of a problem, columns of an instance, and lint findings."""
