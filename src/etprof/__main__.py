"""Lets `python -m etprof` do what the `etprof` command does."""

from etprof.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
