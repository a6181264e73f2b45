#!/usr/bin/env bash
# Short trainings with one setting changed each, for docs/ablations.md: mnist-hard-classify-proposals as it was when its patches had
# 16 px and its heatmaps were compared pixel by pixel, and the recipes of reconstruction.
# Runs what has no result yet: scripts/ablate.sh [NAME...]; `mist reproduce ablations --recorded` prints the table.
set -euo pipefail
cd "$(dirname "$0")/.."
mist=${MIST:-target/release/mist}
steps=300
proposed=method.lifted.proposals.steps=150

read_digits="mnist-hard-classify-proposals model.geometry.patch_px=16 method.lifted.heatmap.window_px=1 $proposed"
redraw_digits="mnist-hard-reconstruct-proposals batch=8 $proposed"
redraw_sizes="mnist-scale-reconstruct-proposals batch=4 $proposed"

declare -A trained=(
    [base]="$read_digits"
    [paper-start]="$read_digits method.lifted.proposals.steps=0 method.lifted.proposals.compete=false"
    [no-competition]="$read_digits method.lifted.proposals.compete=false"
    [squared]="$read_digits method.lifted.mean_distance=squared method.lifted.keypoints.learning_rate=312.5"
    [nms-5]="$read_digits model.extractor.nms_window_px=5"
    [greedy]="$read_digits model.extractor.suppression=greedy"
    [mass-1]="$read_digits model.extractor.mass_window_px=1"
    [still-keypoints]="$read_digits method.lifted.keypoints.steps=0"
    [three-keypoint-steps]="$read_digits method.lifted.keypoints.steps=3"
    [lambda]="$read_digits method.lifted.keypoints.steps=3 method.lifted.keypoints.lambda=0.01"
    [task-first]="$read_digits method.lifted.order=task_first"
    [unweighted]="$read_digits method.lifted.heatmap.loss.weighted_mean.sharpness=0.0"
    [official-norm]="$read_digits model.detector.style=official model.task.classifier.encoder.style=official"
    [four-blocks]="$read_digits model.detector.blocks=4"
    [soft]="$read_digits model.softmax.strength=3.0"
    [slow]="$read_digits optimiser.detector.adam.learning_rate=3e-4 optimiser.task.adam.learning_rate=1.5e-4"
    [batch-32]="$read_digits batch=32"
    [patch-24]="$read_digits model.geometry.patch_px=24"
    [window-5]="$read_digits method.lifted.heatmap.window_px=5"
    [window-5-no-competition]="$read_digits method.lifted.heatmap.window_px=5 method.lifted.proposals.compete=false"
    [window-5-paper-start]="$read_digits method.lifted.heatmap.window_px=5 method.lifted.proposals.steps=0
        method.lifted.proposals.compete=false"
    [redraw-base]="$redraw_digits"
    [redraw-box]="$redraw_digits model.geometry.context_px=0.0"
    [redraw-three-levels]="$redraw_digits model.task.autoencoder.encoder.levels=3"
    [redraw-lambda]="$redraw_digits method.lifted.keypoints.steps=3 method.lifted.keypoints.lambda=1.0"
    [redraw-momentum]="$redraw_digits method.lifted.keypoints.steps=3 method.lifted.keypoints.momentum=0.9"
    [redraw-no-momentum]="$redraw_digits method.lifted.keypoints.steps=3"
    [redraw-no-competition]="$redraw_digits method.lifted.proposals.compete=false"
    [sizes-base]="$redraw_sizes"
)

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    mapfile -t names < <(printf '%s\n' "${!trained[@]}" | sort)
fi
for name in "${names[@]}"; do
    experiment=ablate-$name
    [ -e "results/$experiment.seed1.json" ] && continue
    read -r -d '' -a words <<<"${trained[$name]}" || true
    settings=(--set "experiment=$experiment" --set "steps=$steps" --set every.validation="$steps")
    for setting in "${words[@]:1}"; do
        settings+=(--set "$setting")
    done
    rm -rf "runs/$experiment"
    run=$("$mist" train "${words[0]}" -q "${settings[@]}")
    "$mist" eval "$run" -q --last --count 500 --record >/dev/null
    echo "$experiment" >&2
done
