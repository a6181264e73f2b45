#!/usr/bin/env bash
# Runs every command that docs/tutorial-*.md show, in order, in an empty folder: scripts/tutorials.sh [NAME...]. The data are
# unpacked from dsb2018_nuclei.tar and bccd.tar in $MIST_DATA; every third image is test. STEPS=20 trains that short, to see that
# the commands work; KEEP=DIR keeps the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
docs=$PWD/docs
program=$(realpath "${MIST:-target/release/mist}")
data=$(realpath "${MIST_DATA:?names the folder with dsb2018_nuclei.tar and bccd.tar}")
work=${KEEP:-$(mktemp -d)}
mkdir -p "$work"
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
cd "$work"

# Every third file of a folder goes to test, the others to train.
divide() {
    mkdir -p "$2/train" "$2/test"
    local index=0 part
    for file in "$1"/*; do
        part=train
        [ $((index % 3)) -eq 2 ] && part=test
        cp "$file" "$2/$part/"
        index=$((index + 1))
    done
}

prepare_nuclei() {
    tar xf "$data/dsb2018_nuclei.tar"
    divide dsb2018_nuclei/images nuclei
    cp dsb2018_nuclei/annotations.csv nuclei/boxes.csv
}

prepare_blood() {
    tar xf "$data/bccd.tar"
    divide bccd/JPEGImages blood
    cp -r bccd/Annotations blood/boxes
    # A box of each has no area.
    rm -f blood/boxes/BloodImage_00338.xml blood/boxes/BloodImage_00343.xml
    echo file,class,count > blood/counts.csv
    for file in blood/train/*; do
        file=$(basename "$file")
        for class in Platelets RBC WBC; do
            count=$(grep -o "<name>$class</name>" "bccd/Annotations/${file%.*}.xml" | wc -l)
            echo "$file,$class,$count"
        done
    done >> blood/counts.csv
}

# What the pages call `mist`.
mist() {
    if [ "$1" = train ] && [ -n "${STEPS:-}" ]; then
        set -- "$@" --set "steps=$STEPS"
    fi
    "$program" "$@"
}

names=("$@")
[ ${#names[@]} -gt 0 ] || names=(nuclei blood)
for name in "${names[@]}"; do
    "prepare_$name"
    commands=$(awk '/^```sh$/ { shown = 1; next } /^```$/ { shown = 0 } shown' "$docs/tutorial-$name.md")
    [ -n "$commands" ] || { echo "docs/tutorial-$name.md shows no command" >&2; exit 1; }
    while IFS= read -r line; do
        echo "\$ $line"
        eval "$line"
    done <<< "$commands"
done
