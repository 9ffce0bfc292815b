"""Other people's formats in: ETDump traces, runner results, kernel samples."""
