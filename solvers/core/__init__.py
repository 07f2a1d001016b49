"""The compiled core in C++20, which uses only the standard library, and the tables with which Python calls it."""
