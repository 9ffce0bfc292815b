"""The Model Context Protocol front end: tools for assistants, confined to a workspace."""
