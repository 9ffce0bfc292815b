"""Door to `etprof run --device android`."""

import sys

from etprof.cli.main import main

raise SystemExit(main(["run", "--device", "android", *sys.argv[1:]]))
