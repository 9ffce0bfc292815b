"""Compatibility script: `etprof quickstart --dtype fp16`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from model_profiling.launcher import main

sys.exit(main(["quickstart", "--dtype", "fp16", *sys.argv[1:]]))
