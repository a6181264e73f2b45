#!/bin/sh
# Makes a small Python environment with the tensorboard package, which one test reads event files with, and prints its
# interpreter.
# Usage: scripts/setup-tensorboard.sh [DIRECTORY]    (default: .venv-tensorboard in the repository's root)
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
venv=${1:-$root/.venv-tensorboard}

command -v python3 >/dev/null || {
    echo "setup-tensorboard: python3 is missing" >&2
    exit 1
}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv" >&2
"$venv/bin/python" -m pip install --quiet --requirement "$root/python/tensorboard/requirements.txt" >&2
echo "$(cd "$venv" && pwd)/bin/python"
