"""Inside of torch: steps that are recorded, graphs of torch.fx in a better order, a backend of torch.compile."""
