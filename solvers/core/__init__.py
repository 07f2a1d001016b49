"""The compiled core, in C++20 with only the standard library, and the tables with which Python calls it."""
