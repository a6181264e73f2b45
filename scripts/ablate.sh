#!/usr/bin/env bash
# Short trainings of mnist-hard-classify with one setting changed each, for docs/ablations.md.
# Runs what has no result yet: scripts/ablate.sh [NAME...]; `mist reproduce ablations --recorded` prints the table.
set -euo pipefail
cd "$(dirname "$0")/.."
mist=${MIST:-target/release/mist}
steps=300

declare -A changed=(
    [base]=""
    [paper-start]="method.lifted.seeded_steps=0 method.lifted.seeds_compete=false"
    [no-competition]="method.lifted.seeds_compete=false"
    [squared]="method.lifted.mean_distance=squared method.lifted.keypoint_rate=312.5"
    [nms-5]="model.extractor.nms_window_px=5"
    [mass-1]="model.extractor.mass_window_px=1"
    [still-keypoints]="method.lifted.keypoint_steps=0"
    [three-keypoint-steps]="method.lifted.keypoint_steps=3"
    [lambda]="method.lifted.lambda=0.01"
    [task-first]="method.lifted.order=task_first"
    [unweighted]="method.lifted.heatmap_loss.weighted_mean.sharpness=0.0"
    [official-norm]="model.detector.style=official model.task.classifier.encoder.style=official"
    [four-blocks]="model.detector.blocks=4"
    [soft]="model.softmax.strength=3.0"
    [slow]="optimiser.detector.adam.rate=3e-4 optimiser.task.adam.rate=1.5e-4"
    [batch-32]="batch=32"
)

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    mapfile -t names < <(printf '%s\n' "${!changed[@]}" | sort)
fi
for name in "${names[@]}"; do
    experiment=ablate-$name
    [ -e "results/$experiment.seed1.json" ] && continue
    settings=(--set "experiment=$experiment" --set "steps=$steps" --set every.validation="$steps"
        --set method.lifted.seeded_steps=150)
    for setting in ${changed[$name]}; do
        settings+=(--set "$setting")
    done
    rm -rf "runs/$experiment"
    run=$("$mist" train mnist-hard-classify -q "${settings[@]}")
    "$mist" eval "$run" -q --last --count 500 --record >/dev/null
    echo "$experiment" >&2
done
