"""Compatibility script: `etprof kernels log`."""

import sys

from etprof.cli.main import main

sys.exit(main(["kernels", "log", *sys.argv[1:]]))
