"""Compatibility script: `etprof kernels log`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from model_profiling.launcher import main

sys.exit(main(["kernels", "log", *sys.argv[1:]]))
