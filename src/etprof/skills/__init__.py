"""Skills: documents that tell a person or an assistant what to type, with a contract that a machine can execute."""
