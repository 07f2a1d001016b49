"""The compilers and runtimes that memplan supports, one folder for each: file readers, planners, plan writers."""
