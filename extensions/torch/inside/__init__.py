"""memplan inside torch: recorded steps, better orders of torch.fx graphs, and a backend of torch.compile."""
