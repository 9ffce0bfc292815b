"""Latency, speed-ups, noise and what casts doubt on them."""
