"""Lower bounds: what no plan can go below, with a witness."""
