"""A small convolutional network for a first look: every kind of work, milliseconds per inference, no extra package."""
