"""The types that every layer uses: frozen dataclasses, errors and units. Imports no other layer."""
