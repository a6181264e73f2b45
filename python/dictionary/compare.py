"""Learns Gabor noise by convolutional dictionary learning and judges it as `mist eval` judges a model."""

import argparse
import json
import os
import platform
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.optimize import linear_sum_assignment
from sporco.admm import cbpdn
from sporco.dictlrn import cbpdndl

BACKGROUND = 0.5
KERNEL_PX = 39
RADIUS_PX = 2.0


def scenes(directory):
    """Images less their background, and the true centres of each."""
    annotations = json.loads((directory / "annotations.json").read_text())
    centres = {image["id"]: [] for image in annotations["images"]}
    for annotation in annotations["annotations"]:
        left, top, width, height = annotation["bbox"]
        centres[annotation["image_id"]].append((left + width / 2, top + height / 2))
    for image in annotations["images"]:
        path = directory / image["file_name"]
        if not path.exists():
            path = directory / "images" / image["file_name"]
        pixels = np.asarray(Image.open(path).convert("L"), dtype=np.float64) / 255
        yield pixels - BACKGROUND, np.array(centres[image["id"]])


def true_kernel(side):
    """The kernel of the scenes: a = .05, F0 = .0625, w = pi / 4, cut off where the envelope is below .05."""
    offsets = np.arange(side) - (side - 1) / 2
    x, y = np.meshgrid(offsets, offsets)
    envelope = np.exp(-np.pi * 0.05**2 * (x**2 + y**2))
    wave = np.cos(2 * np.pi * 0.0625 * (x + y) / np.sqrt(2))
    return np.where(envelope < 0.05, 0, envelope * wave)


def aligned(kernel):
    """How far the learnt kernel, which may be anywhere in its frame, is from the true one, and their correlation."""
    truth = true_kernel(kernel.shape[0])
    shifts = [(dy, dx) for dy in range(kernel.shape[0]) for dx in range(kernel.shape[1])]
    correlations = [abs(np.corrcoef(np.roll(kernel, shift, (0, 1)).ravel(), truth.ravel())[0, 1]) for shift in shifts]
    best = int(np.argmax(correlations))
    middle = kernel.shape[0] // 2
    return [(shift + middle) % kernel.shape[0] - middle for shift in shifts[best]], correlations[best]


def learn(images, weight, iterations, seed):
    """One kernel from all images at once."""
    start = np.random.default_rng(seed).normal(size=(KERNEL_PX, KERNEL_PX, 1))
    options = cbpdndl.ConvBPDNDictLearn.Options({"Verbose": False, "MaxMainIter": iterations}, dmethod="cns")
    learner = cbpdndl.ConvBPDNDictLearn(start, images, weight, options, dmethod="cns")
    return learner.solve().squeeze()


def strongest(code, instances):
    """Places and values of the largest coefficients that are local maxima."""
    magnitude = np.abs(code)
    padded = np.pad(magnitude, 1)
    neighbours = [
        padded[1 + dy : padded.shape[0] - 1 + dy, 1 + dx : padded.shape[1] - 1 + dx]
        for dy in (-1, 0, 1)
        for dx in (-1, 0, 1)
    ]
    peaks = np.where(magnitude >= np.max(neighbours, axis=0), magnitude, 0)
    order = np.argsort(peaks, axis=None)[::-1][:instances]
    return np.stack(np.unravel_index(order, code.shape), axis=1)


def drawn(places, kernel, shape):
    """The kernel at each place, one image per place; places are of the kernel's first pixel, around the edges."""
    images = np.zeros((len(places), *shape))
    for image, (top, left) in zip(images, places):
        rows = (top + np.arange(kernel.shape[0])) % shape[0]
        columns = (left + np.arange(kernel.shape[1])) % shape[1]
        image[np.ix_(rows, columns)] = kernel
    return images


def matched(truths, found):
    """One-to-one pairs within the radius, as many as possible."""
    if not len(truths) or not len(found):
        return 0
    distance = np.linalg.norm(truths[:, None] - found[None], axis=2)
    rows, columns = linear_sum_assignment(np.where(distance <= RADIUS_PX, distance / RADIUS_PX - 2, 0))
    return int((distance[rows, columns] <= RADIUS_PX).sum())


def provenance():
    """Where a result comes from, as `mist eval --record` says it."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "command": shlex.join(["python", *sys.argv]),
        "commit": commit.stdout.strip() or "unknown",
        "machine": {"cpu": models[0] if models else platform.machine(), "threads": len(os.sched_getaffinity(0)), "os": platform.system().lower()},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("--instances", type=int, required=True)
    parser.add_argument("--weight", type=float, default=1.2, help="of the l1 term, while the kernel is learnt")
    parser.add_argument("--coding-weight", type=float, default=0.8, help="of the l1 term, in test images")
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", type=Path, help="write the result here as well: results/dictionary-<scenes>.json")
    arguments = parser.parse_args()

    begun = time.perf_counter()
    images = np.stack([image for image, _ in scenes(arguments.train)], axis=-1)
    kernel = learn(images, arguments.weight, arguments.iterations, arguments.seed)
    learning = time.perf_counter() - begun

    (down, right), correlation = aligned(kernel)
    half = (kernel.shape[0] - 1) / 2 + 0.5
    centre = np.array([half - right, half - down])
    options = cbpdn.ConvBPDN.Options({"Verbose": False, "MaxMainIter": arguments.iterations})
    squares = pixels = pairs = truths_count = found_count = 0
    begun = time.perf_counter()
    count = 0
    for image, truths in scenes(arguments.test):
        code = cbpdn.ConvBPDN(kernel[..., None], image, arguments.coding_weight, options).solve().squeeze()
        places = strongest(code, arguments.instances)
        parts = drawn(places, kernel, image.shape).reshape(len(places), -1)
        weights, *_ = np.linalg.lstsq(parts.T, image.ravel(), rcond=None)
        redrawn = np.clip(weights @ parts, -BACKGROUND, 1 - BACKGROUND)
        error = image.ravel() - redrawn
        squares += float(error @ error)
        pixels += image.size
        found = (places[:, ::-1] + centre) % np.array(image.shape[::-1])
        pairs += matched(truths, found)
        truths_count += len(truths)
        found_count += len(found)
        count += 1
    coding = time.perf_counter() - begun

    result = json.dumps(
        {
            "method": "convolutional dictionary learning (sporco)",
            **provenance(),
            "seed": arguments.seed,
            "instances": arguments.instances,
            "weight": arguments.weight,
            "coding_weight": arguments.coding_weight,
            "iterations": arguments.iterations,
            "train_images": images.shape[-1],
            "test_images": count,
            "rmse": (squares / pixels) ** 0.5,
            "impulse_precision": pairs / max(found_count, 1),
            "impulse_recall": pairs / max(truths_count, 1),
            "kernel_corr": correlation,
            "learning_secs": learning,
            "secs_per_image": coding / max(count, 1),
            "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        },
        indent=2,
    )
    print(result)
    if arguments.record:
        arguments.record.write_text(result + "\n")


if __name__ == "__main__":
    main()
