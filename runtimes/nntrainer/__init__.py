"""nntrainer: the planners of its memory pools."""
