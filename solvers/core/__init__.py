"""The compiled core: C++20 on the standard library alone, and the tables by which Python calls it."""
