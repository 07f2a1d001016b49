"""The zoo: the memory that common planners need for published architectures, compared with proved minima."""
