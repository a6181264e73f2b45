"""How well digits could be redrawn at best, whatever the auto-encoder: the least RMSE over all patches.

Keypoints stand on pixel centres, as E_K gives them, half a pixel from the true centres. Needs numpy, scipy and pillow:

    mist data generate hard --split valid --count 4 --out scenes
    python python/floor/redraw_floor.py scenes
"""

import argparse
import json
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import sparse

OFF_PX = 0.5
STEPS = 300
# No less than the largest eigenvalue of the problems below.
CURVATURE = 40.0


def strip(canvas_px, patch_px, seen_px, centre_px):
    """Weights with which each canvas pixel reads a line of patch values, `[canvas_px, patch_px]`."""
    weights = np.zeros((canvas_px, patch_px))
    for pixel in range(canvas_px):
        offset = pixel + 0.5 - centre_px
        if abs(offset) >= seen_px / 2:
            continue
        place = (offset + seen_px / 2) * patch_px / seen_px - 0.5
        below = int(np.floor(place))
        for index, weight in ((below, below + 1 - place), (below + 1, place - below)):
            if 0 <= index < patch_px:
                weights[pixel, index] += weight
    return sparse.csr_matrix(weights)


def least_square(image, centres, patch_px, seen_px, lowest, highest):
    """Sum of squares left by the best patches with values in a range, by accelerated projected gradients."""
    height, width = image.shape
    pastes = [
        sparse.kron(
            strip(height, patch_px, seen_px, y + OFF_PX),
            strip(width, patch_px, seen_px, x + OFF_PX),
        )
        for x, y in centres
    ]
    paste, target = sparse.hstack(pastes).tocsr(), image.ravel()
    patches = np.zeros(paste.shape[1])
    ahead, pace = patches, 1.0
    for _ in range(STEPS):
        gradient = paste.T @ (paste @ ahead - target)
        last, patches = patches, np.clip(ahead - gradient / CURVATURE, lowest, highest)
        last_pace, pace = pace, (1 + np.sqrt(1 + 4 * pace * pace)) / 2
        ahead = patches + (last_pace - 1) / pace * (patches - last)
    return np.square(paste @ patches - target).sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", type=Path)
    directory = parser.parse_args().scenes
    annotations = json.loads((directory / "annotations.json").read_text())
    centres = {image["id"]: [] for image in annotations["images"]}
    for annotation in annotations["annotations"]:
        left, top, width, height = annotation["bbox"]
        centres[annotation["image_id"]].append((left + width / 2, top + height / 2))
    images = {
        image["id"]: np.asarray(
            Image.open(directory / "images" / Path(image["file_name"]).name).convert("L"),
            dtype=np.float64,
        )
        / 255
        for image in annotations["images"]
    }
    pixels = sum(image.size for image in images.values())
    print("patch px, seen px, least RMSE of patches in 0..1, and of any")
    for patch_px, seen_px in ((32, 20), (32, 24), (32, 25), (32, 28), (32, 32), (24, 24), (28, 28)):
        floors = [
            sum(
                least_square(image, centres[key], patch_px, seen_px, *values)
                for key, image in images.items()
            )
            for values in ((0, 1), (-np.inf, np.inf))
        ]
        print(patch_px, seen_px, *(f"{np.sqrt(floor / pixels):.4f}" for floor in floors))


if __name__ == "__main__":
    main()
