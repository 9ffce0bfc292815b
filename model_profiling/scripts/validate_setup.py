"""Door to `etprof doctor`."""

import sys

from etprof.cli.main import main

raise SystemExit(main(["doctor", *sys.argv[1:]]))
