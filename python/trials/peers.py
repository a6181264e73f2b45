"""Classical methods on the images of the trials, judged as `mist eval --boxes` judges a model."""

import argparse
import csv
import json
import xml.etree.ElementTree as xml
from pathlib import Path

import cv2
import numpy as np
from scipy import ndimage
from skimage import feature, filters, io, measure


def true_boxes(path):
    """Class and box of every object, by the name of the image without its ending."""
    boxes = {}
    if path.is_dir():
        for file in sorted(path.glob("*.xml")):
            image = boxes.setdefault(file.stem, [])
            for thing in xml.parse(file).iter("object"):
                edges = [float(thing.find(f"bndbox/{edge}").text) for edge in ("xmin", "ymin", "xmax", "ymax")]
                if edges[0] < edges[2] and edges[1] < edges[3]:
                    image.append((thing.find("name").text, edges))
    else:
        with path.open() as file:
            for row in csv.DictReader(file):
                edges = [float(row[edge]) for edge in ("xmin", "ymin", "xmax", "ymax")]
                boxes.setdefault(Path(row.get("file") or row["id"]).stem, []).append((row["class"], edges))
    return boxes


def matched(boxes, centres):
    """How many boxes, in order, take the nearest free centre in units of their half sides."""
    free, count = list(centres), 0
    for left, top, right, bottom in boxes:
        def away(centre):
            x, y = centre[:2]
            return max(abs(x - (left + right) / 2) / (right - left), abs(y - (top + bottom) / 2) / (bottom - top)) * 2
        nearest = min(free, key=away, default=None)
        if nearest is not None and away(nearest) <= 1:
            free = [centre for centre in free if centre is not nearest]
            count += 1
    return count


def judged(images):
    """Precision, recall, F1 and the median error of counts, of pairs of true boxes and found centres."""
    right = sum(matched(boxes, centres) for boxes, centres in images)
    truths = sum(len(boxes) for boxes, _ in images)
    found = sum(len(centres) for _, centres in images)
    errors = [abs(len(centres) - len(boxes)) / len(boxes) for boxes, centres in images if boxes]
    precision, recall = right / max(found, 1), right / max(truths, 1)
    return {
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f1": round(2 * right / max(found + truths, 1), 4),
        "count_err_median": round(float(np.median(errors)), 4),
    }


def points(rows_and_columns):
    return [(float(x) + 0.5, float(y) + 0.5) for y, x in rows_and_columns]


def otsu_parts(gray):
    smooth = filters.gaussian(gray, 1)
    labels = measure.label(smooth > filters.threshold_otsu(smooth))
    parts = [part.centroid for part in measure.regionprops(labels) if part.area >= 12]
    return [(x + 0.5, y + 0.5) for y, x in parts]


def distance_peaks(gray, distance_px=5):
    smooth = filters.gaussian(gray, 1)
    above = ndimage.binary_opening(smooth > filters.threshold_otsu(smooth))
    distance = filters.gaussian(ndimage.distance_transform_edt(above), 1)
    labels = measure.label(above)
    return points(feature.peak_local_max(distance, min_distance=distance_px, labels=labels, exclude_border=False))


def blobs(gray, least=3, most=25):
    stretched = (gray - gray.min()) / max(float(np.ptp(gray)), 1e-6)
    found = feature.blob_log(stretched, min_sigma=least, max_sigma=most, num_sigma=8, threshold=0.1)
    return points(found[:, :2])


def hough(gray, radii=(35, 65), sensitivity=22):
    blurred = cv2.medianBlur((gray * 255).astype(np.uint8), 5)
    found = cv2.HoughCircles(
        blurred, cv2.HOUGH_GRADIENT, 1.2, 50, param1=80, param2=sensitivity, minRadius=radii[0], maxRadius=radii[1]
    )
    return [] if found is None else [tuple(map(float, circle[:2])) for circle in found.reshape(-1, 3)]


def template_matches(gray, template, least=0.5):
    score = cv2.matchTemplate(gray.astype(np.float32), template.astype(np.float32), cv2.TM_CCOEFF_NORMED)
    side = template.shape[0]
    peaks = feature.peak_local_max(score, min_distance=side // 3, threshold_abs=least)
    return [(x + side / 2, y + side / 2) for y, x in peaks]


def white_cells(colour):
    """White cells are the only large dark violet parts: little green."""
    green = filters.gaussian(colour[..., 1], 3)
    labels = measure.label(green < filters.threshold_multiotsu(green, 3)[0])
    parts = [part for part in measure.regionprops(labels) if part.area > 1500]
    return [(part.centroid[1] + 0.5, part.centroid[0] + 0.5) for part in parts]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trial", choices=("nuclei", "blood", "coins"))
    parser.add_argument("images", type=Path)
    parser.add_argument("boxes", type=Path)
    parser.add_argument("--every", nargs=2, type=int, default=(1, 0), help="only images with index %% N == R")
    parser.add_argument("--template", nargs=2, type=int, default=(1, 0), help="a mean of boxes of such images")
    arguments = parser.parse_args()
    boxes = true_boxes(arguments.boxes)
    files = [arguments.images] if arguments.images.is_file() else sorted(arguments.images.iterdir())
    files = [file for file in files if file.stem in boxes]
    period, rest = arguments.every
    chosen = [file for index, file in enumerate(files) if index % period == rest]
    gray = {file: io.imread(file, as_gray=True).astype(float) for file in files}
    gray = {file: image / (255.0 if image.max() > 1 else 1.0) for file, image in gray.items()}
    if arguments.trial == "blood":
        others = [file for file in files if file not in chosen]
        cuts = []
        for file in others:
            for name, (left, top, right, bottom) in boxes[file.stem]:
                left, top, right, bottom = (int(edge) for edge in (left, top, right, bottom))
                if name == "RBC" and 80 < right - left < 130 and 80 < bottom - top < 130:
                    cuts.append(cv2.resize(gray[file][max(top, 0):bottom, max(left, 0):right], (96, 96)))
        template = np.mean(cuts, 0)
        methods = {
            "RBC: Hough circles": ("RBC", lambda file: hough(gray[file])),
            "RBC: template (mean of true boxes of the other images)": (
                "RBC",
                lambda file: template_matches(gray[file], template),
            ),
            "WBC: three-part Otsu of green": ("WBC", lambda file: white_cells(io.imread(file) / 255.0)),
        }
    else:
        sizes = (8, 25) if arguments.trial == "coins" else (3, 25)
        methods = {
            "Otsu + components": (None, lambda file: otsu_parts(gray[file])),
            "Otsu + distance peaks": (None, lambda file: distance_peaks(gray[file])),
            "LoG": (None, lambda file: blobs(gray[file], *sizes)),
        }
    for name, (wanted, method) in methods.items():
        pairs = []
        for file in chosen:
            truths = [box for kind, box in boxes[file.stem] if wanted in (None, kind)]
            pairs.append((truths, method(file)))
        print(json.dumps({"method": name, "images": len(pairs), **judged(pairs)}), flush=True)


if __name__ == "__main__":
    main()
