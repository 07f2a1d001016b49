"""The compiled core in C++20, with only the standard library, and the tables by which Python calls it."""
