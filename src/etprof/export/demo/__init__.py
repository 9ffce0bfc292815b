"""Models that come with the package, for a first look and for tests; importing one of them imports torch."""
