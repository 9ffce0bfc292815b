"""Door to `etprof combine`."""

import sys

from etprof.cli.main import main

raise SystemExit(main(["combine", *sys.argv[1:]]))
