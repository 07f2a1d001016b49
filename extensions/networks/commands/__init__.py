"""The commands of networks: order, liveness, and plans in a better order."""
