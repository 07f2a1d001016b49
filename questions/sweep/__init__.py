"""The question `sweep`: plans over a grid of pool sizes, alignments and changes of the problem."""
