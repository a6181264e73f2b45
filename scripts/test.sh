#!/usr/bin/env bash
# Everything that must hold before a change lands: format, lints, tests, documentation.
# With MIST_REQUIRE_DATA=1 the MNIST digits and the tensorboard package are fetched first, and no test may be skipped for
# want of them.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*" >&2; }

step format
cargo fmt --all --check
step lints
cargo clippy --release --workspace --all-targets --locked -- -D warnings
if [ "${MIST_REQUIRE_DATA:-0}" = 1 ]; then
    step data
    cargo run --release --locked -p mist-cli -- data fetch mnist
    MIST_TENSORBOARD_PYTHON=$(sh scripts/setup-tensorboard.sh)
    export MIST_TENSORBOARD_PYTHON
fi
step tests
cargo test --release --workspace --locked
step documentation
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
