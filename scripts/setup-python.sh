#!/bin/sh
# Makes the Python environment of the golden values and the peer benchmark, and prints its interpreter.
# Usage: scripts/setup-python.sh [DIRECTORY]    (default: .venv in the repository's root)
# On x86-64 Linux PyTorch's package is linked against CUDA libraries and brings them along (5 GB),
# although only the CPU is used.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
venv=${1:-$root/.venv}

command -v python3 >/dev/null || {
    echo "setup-python: python3 is missing" >&2
    exit 1
}
command -v "${CXX:-g++}" >/dev/null ||
    echo "setup-python: no C++ compiler (${CXX:-g++}): the settings with torch.compile will answer with errors" >&2

[ -x "$venv/bin/python" ] || python3 -m venv "$venv" >&2
"$venv/bin/python" -m pip install --quiet --requirement "$root/python/golden/requirements.txt" >&2
echo "$(cd "$venv" && pwd)/bin/python"
