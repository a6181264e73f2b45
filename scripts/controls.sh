#!/usr/bin/env bash
# What is learnt from counts, and what is not: mnist-hard-classify for 1,200 steps, without one of its parts, with counts of other
# images, and without any training. Runs what has no result yet: scripts/controls.sh [NAME...]; `mist reproduce controls
# --recorded` prints the table.
set -euo pipefail
cd "$(dirname "$0")/.."
mist=${MIST:-target/release/mist}
exploration=method.lifted.exploration

declare -A changed=(
    [random]="steps=1 optimiser.task.adam.learning_rate=0.0"
    [short]="every.snapshot=100"
    [shuffled]="counts=shuffled"
    [shuffled-released]="counts=shuffled $exploration.release.plateau_steps=0"
    [no-waiting]="$exploration.release.plateau_steps=0"
    [no-search]="$exploration.exchanges.limit=0"
    [no-draws]="$exploration.pool.drawn_sets=0"
    [no-moves]="$exploration.pool.moved_sets=0"
    [no-jitter]="$exploration.centring.jitter_px=0.0"
)

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    mapfile -t names < <(printf '%s\n' "${!changed[@]}" | sort)
fi
for name in "${names[@]}"; do
    experiment=control-$name
    [ -e "results/$experiment.seed1.json" ] && continue
    settings=(--set "experiment=$experiment" --set steps=1200 --set every.validation=200)
    # The search alone: 1,200 steps are too few to settle, and what never starts anew shows what it comes to.
    settings+=(--set "$exploration.settle.from_frac=1.0" --set "$exploration.centring.final_jitter_px=1.3")
    settings+=(--set "$exploration.take_off.patience_steps=0" --set "$exploration.release.patience_steps=500")
    for setting in ${changed[$name]}; do
        settings+=(--set "$setting")
    done
    rm -rf "runs/$experiment"
    run=$("$mist" train mnist-hard-classify -q "${settings[@]}")
    "$mist" eval "$run" -q --last --record >/dev/null
    if [ "$name" = short ]; then
        "$mist" eval "$run" -q --last --proposals --record >/dev/null
    fi
    echo "$experiment" >&2
done
