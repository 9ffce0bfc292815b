"""A runner that takes the stock executor_runner's flags as strictly as gflags does, and says what that one says."""

import sys
from pathlib import Path

_PROGRAM = """#!{python}
import sys
known = {flags}
given = {{}}
for word in sys.argv[1:]:
    name, equals, value = word.removeprefix("--").partition("=")
    if name not in known or not equals:
        sys.exit(f"ERROR: unknown command line flag '{{name}}'")
    given[name] = value
count = int(given["num_executions"])
def say(text):
    print("I 00:00:00.001000 executorch:executor_runner.cpp:400] " + text, file=sys.stderr)
say("Resetting threadpool with num threads = " + given["cpu_threads"])
say("Model loaded in 1.250000 ms.")
for i in range(count):
    say("Iteration %d of %d: %f ms" % (i + 1, count, 4.0 / (i + 1)))
say("Model executed successfully %d time(s) in %f ms." % (count, sum(4.0 / (i + 1) for i in range(count))))
"""
_ALL_FLAGS = ("model_path", "inputs", "num_executions", "cpu_threads", "etdump_path", "print_output")


def make_stock_runner(path: Path, flags: tuple[str, ...] = _ALL_FLAGS) -> Path:
    path.write_text(_PROGRAM.format(python=sys.executable, flags=flags), encoding="utf-8")
    path.chmod(0o755)
    return path
