"""The zoo compares the memory that common planners need for published network architectures with proved minima."""
