"""The kinds of jobs about operations: their lifetimes, their order, cascades of them."""
