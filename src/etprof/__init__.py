"""etprof: where an ExecuTorch model spends its time, and what SME2 changes about it."""

__version__ = "0.1.0"
