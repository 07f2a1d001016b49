"""What the files of models tell of tensors and operations beside bytes and order, in one vocabulary for all formats."""
