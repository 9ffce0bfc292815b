"""Many devices behind one Dask scheduler: workers that offer them, and runs that are sent to them and gathered."""
