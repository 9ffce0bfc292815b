"""The door to `etprof xnn-log`."""

import sys

from etprof.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["xnn-log", *sys.argv[1:]]))
