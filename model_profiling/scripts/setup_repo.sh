#!/usr/bin/env bash
# Makes .venv with the versions of constraints.txt: ExecuTorch's wheel, and what the example models need. Nothing is
# cloned or compiled. Where that was done already, since pyproject.toml and constraints.txt last changed, nothing is
# installed.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
etprof="$root/.venv/bin/etprof"
has_everything() {
  [ "$etprof" -nt "$root/pyproject.toml" ] && [ "$etprof" -nt "$root/constraints.txt" ] || return 1
  "$root/.venv/bin/python" -c 'from importlib.metadata import version as v; v("torchvision"), v("timm"), v("transformers")' || return 1
  "$etprof" doctor
}
if has_everything >/dev/null 2>&1; then
  echo "$root/.venv has everything; nothing to install"
else
  "$root/scripts/install" "$root/.venv" runtime,models
fi
exec "$etprof" doctor
