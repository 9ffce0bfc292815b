"""Door to `etprof run`."""

import sys

from etprof.cli.main import main

raise SystemExit(main(["run", *sys.argv[1:]]))
