#!/usr/bin/env bash
# The rows of table 4: every recipe on photographs with three seeds, on one thread each. Runs what has no result yet:
# scripts/photographs.sh [RECIPE...]; `mist reproduce table4 --recorded` prints the table. The features of each backbone are
# computed once and kept in the user's cache.
set -euo pipefail
cd "$(dirname "$0")/.."
mist=${MIST:-target/release/mist}
seeds=${SEEDS:-1 2 3}
export RAYON_NUM_THREADS=${RAYON_NUM_THREADS:-1}

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    names=(voc-mist-resnet18 voc-cam-resnet18 voc-mist-paper-resnet18 voc-supervised-resnet18 voc-xie20-resnet18
        voc-mist-mobilenetv2)
fi
for name in "${names[@]}"; do
    for seed in $seeds; do
        [ -e "results/$name.seed$seed.json" ] && continue
        run=runs/$name/seed$seed
        if [ -e "$run" ]; then
            "$mist" train --resume --out "$run"
        else
            "$mist" train "$name" --seed "$seed" --out "$run"
        fi
        "$mist" eval "$run" --count 944 --record
    done
done
