"""Writes crates/mist/tests/golden/metrics.json: random test sets and their metrics.

Usage: python python/golden/metrics.py   (needs numpy and scipy)

Coordinates are multiples of 1/64 px, so that areas are exact in single precision and no decision
hangs on rounding; ties between pairings do not occur by chance.
"""

import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import scipy
from scipy.optimize import linear_sum_assignment

SEED = 20210619
CASES = 20
CLASSES = 4
RADIUS_PX = 2.0
OUT = Path(__file__).resolve().parents[2] / "crates/mist/tests/golden/metrics.json"


def share(numerator, denominator):
    return None if denominator == 0 else float(numerator) / float(denominator)


def iou_table(truths, detections):
    """IoU of every truth (rows) with every detection (columns)."""
    t = np.array([row[:4] for row in truths], dtype=np.float32).reshape(-1, 1, 4)
    d = np.array([row[:4] for row in detections], dtype=np.float32).reshape(1, -1, 4)
    sides = np.minimum(t[..., 2:], d[..., 2:]) - np.maximum(t[..., :2], d[..., :2])
    common = np.prod(np.clip(sides, 0, None), axis=-1)
    union = np.prod(t[..., 2:] - t[..., :2], -1) + np.prod(d[..., 2:] - d[..., :2], -1) - common
    return common / union


def same_label(truths, detections):
    t = np.array([row[4] for row in truths], dtype=int)
    d = np.array([row[4] for row in detections], dtype=int)
    return t[:, None] == d[None, :]


def rates(name_suffix, hits, truths, detections):
    return {
        "precision" + name_suffix: share(hits, detections),
        "recall" + name_suffix: share(hits, truths),
        "f1" + name_suffix: share(2 * hits, truths + detections),
    }


def iou50(images):
    covered = sum(int((iou_table(t, d).max(axis=1, initial=0.0) > 0.5).sum()) for t, d in images)
    return share(covered, sum(len(t) for t, _ in images))


def classif(images, free_class=None):
    missed = 0
    for t, d in images:
        shortage = Counter(row[4] for row in t) - Counter(row[4] for row in d)
        missed += sum(count for label, count in shortage.items() if label != free_class)
    total = sum(len(t) for t, _ in images)
    return share(total - missed, total)


def greedy_hits(cost):
    """Rows in order take the cheapest column left; impossible pairs cost infinity."""
    cost = cost.copy()
    hits = 0
    for row in range(cost.shape[0]):
        if cost.shape[1] and np.isfinite(cost[row]).any():
            cost[:, int(np.argmin(cost[row]))] = np.inf
            hits += 1
    return hits


def both_hits(t, d):
    iou = iou_table(t, d)
    return greedy_hits(np.where(same_label(t, d) & (iou >= 0.5), -iou, np.inf))


def centre_hits(t, d):
    tb = np.array([row[:4] for row in t], dtype=float).reshape(-1, 1, 4)
    db = np.array([row[:4] for row in d], dtype=float).reshape(1, -1, 4)
    offset = np.abs((tb[..., :2] + tb[..., 2:]) - (db[..., :2] + db[..., 2:])) / 2
    worst = (offset / ((tb[..., 2:] - tb[..., :2]) / 2)).max(axis=-1)
    return greedy_hits(np.where(same_label(t, d) & (worst <= 1), worst, np.inf))


def optimal_pairs(t, d, need_label):
    iou = iou_table(t, d).astype(float)
    allowed = iou >= 0.5
    if need_label:
        allowed &= same_label(t, d)
    rows, columns = linear_sum_assignment(np.where(allowed, iou, 0.0), maximize=True)
    return [(r, c) for r, c in zip(rows, columns) if allowed[r, c]]


def scale_err(images):
    errors = []
    for t, d in images:
        for r, c in optimal_pairs(t, d, need_label=False):
            for low, high in ((0, 2), (1, 3)):
                ratio = (d[c][high] - d[c][low]) / (t[r][high] - t[r][low])
                errors.append(abs(math.log(ratio)))
    return share(math.fsum(errors), len(errors))


def average_precision(images, label, eleven_point):
    """The challenge's own procedure: one pass down the list of all detections."""
    def chosen(rows):
        return [row for row in rows if label is None or row[4] == label]

    total = sum(len(chosen(t)) for t, _ in images)
    if total == 0:
        return None
    ranked = sorted(
        (-row[5], i, j, row) for i, (_, d) in enumerate(images) for j, row in enumerate(d)
        if chosen([row])
    )
    claimed = set()
    points = []
    right = 0
    for taken, (_, i, _, row) in enumerate(ranked, start=1):
        truths = chosen(images[i][0])
        if truths:
            iou = iou_table(truths, [row])[:, 0]
            best = int(np.argmax(iou))
            if iou[best] >= 0.5 and (i, best) not in claimed:
                claimed.add((i, best))
                right += 1
        points.append((Fraction(right, total), Fraction(right, taken)))

    def best_from(recall):
        return max((p for r, p in points if r >= recall), default=Fraction(0))

    if eleven_point:
        return float(sum(best_from(Fraction(n, 10)) for n in range(11)) / 11)
    # The curve steps at multiples of 1/total only.
    return float(sum(best_from(Fraction(n, total)) for n in range(1, total + 1)) / total)


def mean_average_precision(images, eleven_point):
    labels = sorted({row[4] for t, _ in images for row in t})
    values = [average_precision(images, label, eleven_point) for label in labels]
    return share(math.fsum(values), len(values))


def count_maes(images):
    by_class = [
        abs(sum(row[4] == label for row in t) - sum(row[4] == label for row in d))
        for t, d in images for label in range(CLASSES)
    ]
    total = [abs(len(t) - len(d)) for t, d in images]
    return share(sum(by_class), len(by_class)), share(sum(total), len(total))


def impulse_rates(scenes):
    hits = truths = found = 0
    for scene in scenes:
        t = np.array(scene["truths"], dtype=float).reshape(-1, 1, 2)
        f = np.array(scene["found"], dtype=float).reshape(1, -1, 2)
        near = np.sqrt(((t - f) ** 2).sum(axis=-1)) <= RADIUS_PX
        # Only the number of pairs is asked for: the largest matching of the nearness graph.
        rows, columns = linear_sum_assignment(near.astype(float), maximize=True)
        hits += int(near[rows, columns].sum())
        truths += t.shape[0]
        found += f.shape[1]
    return {
        "impulse_precision": share(hits, found),
        "impulse_recall": share(hits, truths),
        "impulse_f1": share(2 * hits, truths + found),
    }


def rmse(pictures):
    squares = [
        (np.array(p["expected"], dtype=float) - np.array(p["actual"], dtype=float)) ** 2
        for p in pictures
    ]
    joined = np.concatenate(squares) if squares else np.zeros(0)
    return float(np.sqrt(joined.mean())) if joined.size else None


def metric_set(images, k, rule, scenes, pictures):
    kept = [(t[:k], d) for t, d in images]
    truths = sum(len(t) for t, _ in images)
    truths_kept = sum(len(t) for t, _ in kept)
    detections = sum(len(d) for _, d in images)
    both = sum(both_hits(t, d) for t, d in images)
    both_kept = sum(both_hits(t, d) for t, d in kept)
    if rule == "iou":
        hits = sum(len(optimal_pairs(t, d, need_label=True)) for t, d in images)
        hits_kept = both_kept
    else:
        hits = sum(centre_hits(t, d) for t, d in images)
        hits_kept = sum(centre_hits(t, d) for t, d in kept)
    by_class, total = count_maes(images)
    values = {
        "rmse": rmse(pictures),
        "iou50": iou50(images),
        "iou50_official": iou50(kept),
        "classif": classif(images),
        "classif_official": classif(kept, free_class=0),
        "both": share(both, truths),
        "both_official": share(both_kept, truths_kept),
        "ap50": mean_average_precision(images, eleven_point=False),
        "ap50_class_blind": average_precision(images, None, eleven_point=False),
        "count_mae": by_class,
        "count_mae_total": total,
        **impulse_rates(scenes),
        "scale_err": scale_err(images),
        **rates("", hits, truths, detections),
        **rates("_official", hits_kept, truths_kept, detections),
    }
    return {name: value for name, value in values.items() if value is not None}


def random_box(rng, side_px=(6, 16), at=(0, 48)):
    x, y = rng.integers(at[0] * 64, at[1] * 64, 2)
    w, h = rng.integers(side_px[0] * 64, side_px[1] * 64, 2)
    return [int(v) / 64 for v in (x, y, x + w, y + h)]


def jittered(rng, box, pixels):
    return [v + int(rng.integers(-64 * pixels, 64 * pixels + 1)) / 64 for v in box]


def random_image(rng, crowd):
    truths = [
        random_box(rng, at=(0, 48 if crowd < 8 else 24)) + [int(rng.integers(CLASSES))]
        for _ in range(rng.integers(0, crowd + 1))
    ]
    detections = []
    for *box, label in truths:
        # None, one, or a duplicate for each truth, now and then under a wrong label.
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            found = label if rng.random() < 0.8 else int(rng.integers(CLASSES))
            detections.append(jittered(rng, box, 2) + [found])
    for _ in range(rng.integers(0, 3)):
        detections.append(random_box(rng) + [int(rng.integers(CLASSES))])
    rng.shuffle(detections)
    # Scores on a coarse grid: ties are part of the definition.
    return truths, [[*d[:4], int(d[4]), int(rng.integers(16)) / 16] for d in detections]


def boundary_images():
    """Overlaps of exactly one half, centres exactly on an edge, and empty lists."""
    half = [[0.0, 0.0, 1.0, 1.0, 1, 0.5], [10.0, 0.0, 14.0, 2.0, 2, 0.5]]
    return [
        ([[0.0, 0.0, 2.0, 1.0, 1], [10.0, 0.0, 14.0, 4.0, 2]], half),
        ([[0.0, 0.0, 8.0, 4.0, 3]], [[7.0, 1.0, 9.0, 3.0, 3, 0.25]]),
        ([], [[0.0, 0.0, 1.0, 1.0, 0, 1.0]]),
        ([[0.0, 0.0, 1.0, 1.0, 0]], []),
        ([], []),
    ]


def random_points(rng, count):
    return [[int(v) / 64 for v in rng.integers(0, 12 * 64, 2)] for _ in range(count)]


def make_case(rng, number):
    if number == 0:
        images = boundary_images()
    elif number == 1:
        images = []
    else:
        images = [random_image(rng, 3 + number % 8) for _ in range(rng.integers(1, 6))]
    scenes = [
        {key: random_points(rng, rng.integers(0, 9)) for key in ("truths", "found")}
        for _ in range(rng.integers(0, 3))
    ]
    pictures = []
    for _ in range(rng.integers(0, 3)):
        size = int(rng.integers(1, 24))
        expected, actual = rng.integers(0, 257, (2, size)) / 256
        pictures.append({"expected": expected.tolist(), "actual": actual.tolist()})
    k = int(rng.integers(1, 7))
    background = int(rng.integers(CLASSES))
    foreground = [
        ([r for r in t if r[4] != background], [r for r in d if r[4] != background])
        for t, d in images
    ]
    blind = sum(len(optimal_pairs(t, d, need_label=False)) for t, d in images)
    return {
        "images": [{"truths": t, "detections": d} for t, d in images],
        "impulses": scenes,
        "pictures": pictures,
        "official_k": k,
        "background": background,
        "iou_rule": metric_set(images, k, "iou", scenes, pictures),
        "centre_rule": metric_set(foreground, k, "centre", scenes, pictures),
        "ap50_eleven_point": mean_average_precision(images, eleven_point=True),
        "ap50_class_blind_eleven_point": average_precision(images, None, eleven_point=True),
        "class_blind_pairs": blind,
    }


def main():
    rng = np.random.default_rng(SEED)
    document = {
        "script": "python/golden/metrics.py",
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "seed": SEED,
        "class_count": CLASSES,
        "radius_px": RADIUS_PX,
        "cases": [make_case(rng, number) for number in range(CASES)],
    }
    OUT.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, separators=(",", ":"))
    # A line for each case keeps the differences readable.
    OUT.write_text(text.replace('{"images"', '\n{"images"') + "\n")


if __name__ == "__main__":
    main()
