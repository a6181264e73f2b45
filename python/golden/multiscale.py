"""The detector on an image pyramid: from the image to the fused heatmap."""

import math

import torch

import pseudo
import save
from layers import describe, fill, flat_gradient
from local_softmax import EPSILON, STRENGTH, WINDOW, local_softmax
from networks import detector_paper
from resize import resize
from scale_fusion import scale_fusion

LEVELS = [0.7071067811865476, 1.0, 1.4142135623730951]
SALT = 201


def pyramid_size(length_px, level):
    return max(1, math.floor(length_px / level + 0.5))


def multiscale_heatmap(images, detector):
    height, width = images.shape[2:]
    responses = []
    for level in LEVELS:
        size = (pyramid_size(height, level), pyramid_size(width, level))
        responses.append(resize(detector(resize(images, size)), (height, width)))
    return scale_fusion(local_softmax(torch.cat(responses, dim=1), "paper"))


def make(directory):
    name = "multiscale_heatmap"
    detector = detector_paper(channels=4, blocks=1)
    count = fill(detector, SALT)
    images = save.leaf(pseudo.tensor(f"{name}/images", (1, 1, 24, 20)))
    output = multiscale_heatmap(images, detector)
    cotangent = save.backward(name, output)
    case = {
        "salt": SALT,
        "layers": describe(detector),
        "parameter_count": count,
        "levels": LEVELS,
        "variant": "paper",
        "window": WINDOW,
        "strength": STRENGTH["paper"],
        "epsilon": EPSILON,
    }
    tensors = {
        "images": images,
        "output": output,
        "cotangent": cotangent,
        "grad_images": images.grad,
        "grad_parameters": flat_gradient(detector),
    }
    save.write(directory, name, "multiscale.py", case, tensors)
