"""The nouns every room speaks: frozen dataclasses, errors and units. Imports nothing else of ours."""
