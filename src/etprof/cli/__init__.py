"""Words to calls: one module per command. The only room that prints."""
