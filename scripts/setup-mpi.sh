#!/usr/bin/env bash
# Installs what trainings on several ranks need (Debian and Ubuntu) and builds the program that carries their messages, beside mist.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null; then
    as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
    as_root apt-get update -qq
    as_root apt-get install -y --no-install-recommends openmpi-bin libopenmpi-dev libclang-dev >&2
fi
# Alone: within the workspace its features would change those of the tensor library, which would then be built anew.
cargo build --release --locked -p mist-mpi --features mpi
