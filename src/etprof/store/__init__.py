"""Our own formats, in and out: plans, sessions, timelines and tables."""
