"""Where a block runs: one module a kind of device."""
