#!/usr/bin/env bash
# Trains every baseline that shares MIST's networks, one after the other, and records its results: bash scripts/baselines.sh
# Runs that were stopped continue; results that are there are left alone. $MIST names the program, $SEEDS the seeds of
# the methods that have several.
set -euo pipefail
cd "$(dirname "$0")/.."
mist=${MIST:-target/release/mist}
export RAYON_NUM_THREADS=${RAYON_NUM_THREADS:-1}

one() {
    local experiment=$1 seed=$2 run="runs/$1/seed$2"
    shift 2
    if [ -e "results/$experiment.seed$seed.json" ]; then
        return
    fi
    if [ -e "$run" ]; then
        "$mist" train --resume --out "$run" -q
    else
        "$mist" train "$experiment" --seed "$seed" --out "$run" -q
    fi
    "$mist" eval "$run" --count 2000 --record "$@"
}

for seed in ${SEEDS:-1 2 3}; do
    one mnist-hard-xie20 "$seed"
    one mnist-three-xie20 "$seed"
    one mnist-hard-channelwise-classify "$seed"
    one mnist-hard-channelwise "$seed"
    one mnist-easy-channelwise "$seed"
done
one mnist-hard-grid 1
one mnist-easy-grid 1
one mnist-hard-lapsum 1
one mnist-hard-perturbed 1
one mnist-hard-xie20-sinkhorn 1
one mnist-easy-zha18 1
one mnist-hard-zha18 1
one upto2-esl16 1
one mnist-easy-esl16 1 --dataset easy
one mnist-hard-esl16 1 --dataset hard
