"""A video model that remembers earlier frames: its state is part of the program."""
