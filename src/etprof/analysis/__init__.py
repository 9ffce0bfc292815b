"""Pure functions from sessions and traces to the numbers of a report."""
