"""A small vision transformer: a model whose time is matrix multiplication."""
