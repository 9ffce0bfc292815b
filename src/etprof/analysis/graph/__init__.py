"""From events back to the graph: which node an operator is, and what moving data costs."""
