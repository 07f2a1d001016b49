"""Minimising the prices of pairs of buffers that share bytes: exact search, annealing, and lower bounds by cuts."""
