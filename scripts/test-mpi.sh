#!/usr/bin/env bash
# Trainings on ranks that Open MPI starts, on this machine and across two network namespaces (as root; skipped otherwise).
# MIST_KILLS=20 kills twenty ranks instead of three.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup-mpi.sh
cargo clippy --release --locked -p mist-mpi --features mpi --all-targets -- -D warnings
cargo clippy --release --locked --workspace --features mist-cli/mpi --test mpi -- -D warnings
cargo test --release --locked --workspace --features mist-cli/mpi --test mpi -- --test-threads 1
