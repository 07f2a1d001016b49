"""Problems whose sizes are expressions: plans for all values, and how far the symbols may grow."""
