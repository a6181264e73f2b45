#!/usr/bin/env bash
# Heatmaps of one held-out scene while finding is learnt, for docs/from-nothing.md: scripts/heatmaps.sh [STEPS...]
# Needs the run of `scripts/controls.sh short`, which keeps its weights every 100 steps.
set -euo pipefail
cd "$(dirname "$0")/.."
mist=${MIST:-target/release/mist}
run=runs/control-short/1
images=docs/images
steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(0 100 300 1000)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$mist" -q data generate hard --split valid --count 1 --out "$work/scene"
for step in "${steps[@]}"; do
    "$mist" -q detect "$run" "$work/scene/images" --step "$step" --heatmap "$work/heat$step" --overlay "$work/boxes$step" >/dev/null
    cp "$work/heat$step"/*.png "$images/from-nothing-heatmap-$step.png"
    cp "$work/boxes$step"/*.png "$images/from-nothing-boxes-$step.png"
done
