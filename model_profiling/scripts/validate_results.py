"""Door to `etprof validate`."""

import sys

from etprof.cli.main import main

raise SystemExit(main(["validate", *sys.argv[1:]]))
