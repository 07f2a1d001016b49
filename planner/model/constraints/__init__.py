"""The constraint kinds, one module each: its checks of a problem, its columns of an instance, its lint findings."""
