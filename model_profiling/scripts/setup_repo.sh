#!/usr/bin/env bash
# Makes .venv with everything pinned, ExecuTorch's wheel included; there is nothing to clone and nothing to compile.
# Where that was done already, since pyproject.toml last changed, nothing is installed.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
etprof="$root/.venv/bin/etprof"
if [ "$etprof" -nt "$root/pyproject.toml" ] && "$etprof" doctor >/dev/null 2>&1; then
  echo "$root/.venv has everything; nothing to install"
else
  "$root/scripts/install" "$root/.venv" runtime
fi
exec "$etprof" doctor
