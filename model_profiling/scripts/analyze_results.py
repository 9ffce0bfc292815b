"""Door to `etprof analyze`."""

import sys

from etprof.cli.main import main

raise SystemExit(main(["analyze", *sys.argv[1:]]))
