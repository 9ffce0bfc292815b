"""Compatibility script: `etprof run --device android`."""

import sys

from etprof.cli.main import main

sys.exit(main(["run", "--device", "android", *sys.argv[1:]]))
