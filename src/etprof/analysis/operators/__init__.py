"""Operators and categories of traces: where each nanosecond went, before and after."""
