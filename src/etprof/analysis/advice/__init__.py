"""What to optimise next."""
