"""Plans of problems whose sizes are expressions, valid for all values of their symbols, and limits of these symbols."""
