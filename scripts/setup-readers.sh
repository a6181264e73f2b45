#!/bin/sh
# Makes a small Python environment with the programs that read detections (pycocotools, Label Studio's SDK) and job files
# (kubernetes-validate), which two tests ask, and prints its interpreter.
# Usage: scripts/setup-readers.sh [DIRECTORY]    (default: .venv-readers in the repository's root)
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
venv=${1:-$root/.venv-readers}

command -v python3 >/dev/null || {
    echo "setup-readers: python3 is missing" >&2
    exit 1
}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv" >&2
"$venv/bin/python" -m pip install --quiet --no-deps --requirement "$root/python/readers/requirements.txt" >&2
echo "$(cd "$venv" && pwd)/bin/python"
