#!/bin/sh
# Searches a folder of images on several machines with nothing but an MPI launcher, which is used to start processes:
#
#   export MODEL=models/mnist-hard IMAGES=/data/images OUT=/data/found.csv
#   examples/detect-mpirun.sh --host node1:4,node2:4 -n 8
#
# Run it again with the same number of processes after a failure: shards that are done are not done again.
set -eu
mpirun -x RAYON_NUM_THREADS=1 "$@" mist detect "$MODEL" "$IMAGES" --format csv --out "$OUT"
exec mist merge "$OUT".shard-* --out "$OUT"
