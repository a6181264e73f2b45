"""Softmax of every pixel against the 15x15 window around it, channel by channel."""

import torch
import torch.nn.functional as F

import pseudo
import save

WINDOW = 15
RADIUS = WINDOW // 2
EPSILON = 1e-6
STRENGTH = {"paper": 10.0, "official": 10.0, "lfnet": 3.0}
SHAPE = {"large": (2, 2, 20, 24), "small": (1, 1, 9, 7)}


def window_sum(values, padding):
    channels = values.shape[1]
    ones = torch.ones(channels, 1, WINDOW, WINDOW, dtype=values.dtype)
    return F.conv2d(values, ones, padding=padding, groups=channels)


def local_softmax(logits, variant):
    if variant == "lfnet":
        highest = F.max_pool2d(logits, WINDOW, stride=1, padding=RADIUS)
    else:
        highest = logits.amax(dim=(2, 3), keepdim=True)
    e = torch.exp(STRENGTH[variant] * (logits - highest))
    if variant == "official" and min(logits.shape[2:]) >= WINDOW:
        total = F.pad(window_sum(e, padding=0), (RADIUS,) * 4, mode="replicate")
    else:
        total = window_sum(e, padding=RADIUS)
    return e / (total + EPSILON)


def make(directory):
    for variant, strength in STRENGTH.items():
        for size, shape in SHAPE.items():
            name = f"local_softmax_{variant}_{size}"
            case = {"variant": variant, "window": WINDOW, "strength": strength, "epsilon": EPSILON}
            inputs = {"logits": pseudo.tensor(f"local_softmax_{size}/logits", shape, scale=1.5)}
            run = lambda logits: local_softmax(logits, variant)
            save.differentiable(directory, name, "local_softmax.py", case, run, inputs)
