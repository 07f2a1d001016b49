"""dsa-solver: problems of dynamic storage allocation, with the price of sharing bytes."""
