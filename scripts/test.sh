#!/usr/bin/env bash
# Everything that must hold before a change lands: format, lints, tests, documentation.
# Fetches the MNIST digits, a photograph and the Python packages that some tests need. Without them (no network, say) those tests are
# skipped, and the last lines count them and say why; with MIST_REQUIRE_DATA=1 a missing file is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*" >&2; }
required() { [ "${MIST_REQUIRE_DATA:-0}" = 1 ]; }

step format
cargo fmt --all --check
step lints
cargo clippy --release --workspace --all-targets --locked -- -D warnings
step data
cargo run --release --locked -p mist-cli -- data fetch mnist || ! required
cargo run --release --locked -p mist-cli -- data fetch coins || ! required
# Sets a variable to the Python that a script sets up, unless it is set already.
python_of() {
    [ -z "${!1:-}" ] || return 0
    local python
    if python=$(sh "$2"); then
        export "$1=$python"
    elif required; then
        exit 1
    fi
}
python_of MIST_TENSORBOARD_PYTHON scripts/setup-tensorboard.sh
python_of MIST_READERS_PYTHON scripts/setup-readers.sh
MIST_SKIPPED=$(mktemp)
export MIST_SKIPPED
trap 'rm -f "$MIST_SKIPPED"' EXIT
step tests
cargo test --release --workspace --locked
step documentation
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

count=$(wc -l <"$MIST_SKIPPED")
if [ "$count" -gt 0 ]; then
    printf '\n%s tests were skipped:\n' "$count"
    cat "$MIST_SKIPPED"
else
    printf '\nno test was skipped\n'
fi
