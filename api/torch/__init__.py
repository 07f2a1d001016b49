"""memplan beside PyTorch: graphs of operations of torch.fx modules, orders and clones given back to them."""
