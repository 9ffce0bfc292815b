"""What executes a .pte: the runners, and what they may hide from XNNPACK."""
