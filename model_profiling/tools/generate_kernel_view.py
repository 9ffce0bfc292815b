"""Compatibility script: `etprof kernels view`."""

import sys

from etprof.cli.main import main

sys.exit(main(["kernels", "view", *sys.argv[1:]]))
