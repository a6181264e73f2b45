"""Fits the cost model of docs/scaling.md to figures of `mist bench --ranks --json` and prints the predicted speed-ups.

    python3 python/scaling.py results/scaling-1.json results/scaling-2.json results/scaling-4.json

A step on n ranks takes  compute / n + fixed + pieces * latency * hops + 2 * bytes * (n - 1) / n / bandwidth,  where `hops` is n - 1: a
sum is an exchange of slices of every rank with every other, and a gathering of slices, and messages of a rank leave one by one."""

import json
import sys

BATCH = 32
# Sums of a step: the moments of the input twice, the gradients of two networks, the losses, the agreement on signals.
PIECES = 8


def fit(points):
    """Least squares of a straight line through (x, y)."""
    n = len(points)
    mean_x = sum(x for x, _ in points) / n
    mean_y = sum(y for _, y in points) / n
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    return mean_y - slope * mean_x, slope


def main():
    figures = sorted((json.load(open(path, encoding="utf-8")) for path in sys.argv[1:]), key=lambda f: f["ranks"])
    one, two = figures[0], next(f for f in figures if f["ranks"] == 2)
    assert one["ranks"] == 1 and one["threads"] == 1
    small = min(s["ms"] for s in two["sums"])
    _, per_byte = fit([(4 * s["values"], s["ms"]) for s in two["sums"]])
    gradient_bytes = two["comm_bytes"]
    # What does not shrink with the number of ranks: what is left of two ranks' step beside half of one rank's.
    fixed = max(0.0, two["step_ms"] - two["comm_ms"] - one["step_ms"] / 2) * 2
    compute = one["step_ms"] - fixed
    print(f"measured: step of one rank {one['step_ms']:.0f} ms; of two {two['step_ms']:.0f} ms, {gradient_bytes / 1e6:.1f} MB sent by each")
    print(f"fitted: smallest sum {small:.2f} ms, {1e-3 / per_byte:.0f} MB/s through pipes and MPI, "
          f"compute {compute:.0f} ms / n + {fixed:.0f} ms\n")
    print("| ranks | batch | 10 Gbit/s | 100 Gbit/s | 10 Gbit/s, 32 images a rank | 100 Gbit/s, 32 images a rank |")
    print("|---|---|---|---|---|---|")
    copy = per_byte  # Pipes and copies do not get faster with the network.
    for ranks in [2, 4, 8, 16, 32, 100, 1000]:
        row = []
        for per_rank in [BATCH / ranks, BATCH]:
            for gbit in [10, 100]:
                wire = 8 / (gbit * 1e6)  # ms per byte
                sent = 2 * gradient_bytes * (ranks - 1) / ranks
                exchange = PIECES * (small + 0.01 * (ranks - 1)) + sent * (wire + copy)
                step = compute * per_rank / BATCH + fixed + exchange
                images = per_rank * ranks / BATCH
                row.append(images * one["step_ms"] / step)
        strong = [f"{value:.1f}" for value in row[:2]] if ranks <= BATCH else ["-", "-"]
        print(f"| {ranks} | {BATCH} or {BATCH * ranks} | {strong[0]} | {strong[1]} | {row[2]:.0f} | {row[3]:.0f} |")


main()
