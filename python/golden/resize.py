"""Bilinear resizing with half-pixel centres and no antialiasing."""

import torch.nn.functional as F

import pseudo
import save

CASES = {
    "down": ((2, 3, 13, 10), (9, 7)),
    "up": ((2, 3, 13, 10), (19, 17)),
    "same": ((2, 3, 13, 10), (13, 10)),
    "one_pixel": ((1, 2, 1, 1), (5, 4)),
}


def resize(images, size):
    return F.interpolate(images, size=size, mode="bilinear", align_corners=False, antialias=False)


def make(directory):
    for kind, (shape, size) in CASES.items():
        name = f"resize_{kind}"
        case = {"height_px": size[0], "width_px": size[1]}
        inputs = {"images": pseudo.tensor(f"{name}/images", shape)}
        save.differentiable(directory, name, "resize.py", case, lambda images: resize(images, size), inputs)
