#!/usr/bin/env bash
# Gabor noise of 16, 64 and 256 impulses: dictionary learning and ours in turn on the same 2,000 test scenes, one thread each.
# Needs the trained runs (`mist train gabor-reconstruct` and so on): scripts/compare-dictionary.sh [SCENES...]
set -euo pipefail
cd "$(dirname "$0")/.."
mist=${MIST:-target/release/mist}
environment=${DICTIONARY_ENV:-.venv-dictionary}
if [ ! -x "$environment/bin/python" ]; then
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet -r python/dictionary/requirements.txt
fi

# Weights of the l1 term, in learning and in coding: the best recall on 8 to 12 validation scenes.
declare -A settings=(
    [gabor]="--instances 16 --weight 1.2 --coding-weight 0.8"
    [gabor64]="--instances 64 --weight 0.3 --coding-weight 0.4"
    [gabor256]="--instances 256 --weight 0.15 --coding-weight 0.1"
)
scenes=data/dictionary
kinds=("$@")
[ ${#kinds[@]} -gt 0 ] || kinds=(gabor gabor64 gabor256)
for kind in "${kinds[@]}"; do
    rm -rf "${scenes:?}/$kind"
    "$mist" -q data generate "$kind" --split train --count 20 --out "$scenes/$kind/train"
    "$mist" -q data generate "$kind" --split test --count 2000 --out "$scenes/$kind/test"
    read -r -a words <<<"${settings[$kind]}"
    OMP_NUM_THREADS=1 taskset -c 0 "$environment/bin/python" python/dictionary/compare.py \
        "$scenes/$kind/train" "$scenes/$kind/test" "${words[@]}" --record "results/dictionary-$kind.json"
    taskset -c 0 "$mist" -q eval "runs/$kind-reconstruct/1" --record
done
