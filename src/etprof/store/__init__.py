"""Our own formats, in and out: plans, sessions, and every file name."""
