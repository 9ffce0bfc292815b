"""Door to `etprof latency`."""

import sys

from etprof.cli.main import main

raise SystemExit(main(["latency", *sys.argv[1:]]))
