"""Door to `etprof report`."""

import sys

from etprof.cli.main import main

raise SystemExit(main(["report", *sys.argv[1:]]))
