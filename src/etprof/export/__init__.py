"""From a PyTorch model to a .pte that can be trusted."""
