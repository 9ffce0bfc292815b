"""A small decoder with a key-value cache: a prompt in one step (prefill), then one token at a time (decode)."""
