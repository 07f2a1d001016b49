"""Plans of problems whose sizes are expressions over symbols, valid for all symbol values, and limits of symbols."""
