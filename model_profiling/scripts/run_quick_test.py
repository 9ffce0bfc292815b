"""Door to `etprof quickstart`."""

import sys

from etprof.cli.main import main

raise SystemExit(main(["quickstart", *sys.argv[1:]]))
