#!/usr/bin/env bash
# Makes .venv with the versions of constraints.txt, ExecuTorch's wheel included; nothing is cloned or compiled.
# Where that was done already, since pyproject.toml and constraints.txt last changed, nothing is installed.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
etprof="$root/.venv/bin/etprof"
if [ "$etprof" -nt "$root/pyproject.toml" ] && [ "$etprof" -nt "$root/constraints.txt" ] && "$etprof" doctor >/dev/null 2>&1; then
  echo "$root/.venv has everything; nothing to install"
else
  "$root/scripts/install" "$root/.venv" runtime
fi
exec "$etprof" doctor
