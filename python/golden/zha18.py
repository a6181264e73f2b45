"""The parts of Zha18: landmarks from responses, what keeps them apart, the decoder's maps, and thin-plate splines."""

import math

import torch
from scipy.interpolate import RBFInterpolator

import pseudo
import save

SCRIPT = "zha18.py"


def pixel_centres(height, width):
    y, x = torch.meshgrid(
        (torch.arange(height, dtype=pseudo.COMPUTE) + 0.5) / height,
        (torch.arange(width, dtype=pseudo.COMPUTE) + 0.5) / width,
        indexing="ij"
    )
    return torch.stack([x.flatten(), y.flatten()], dim=1)


def landmarks(responses):
    """Places and mean variances, side by side: `[batch, K, 3]`."""
    batch, channels, height, width = responses.shape
    shares = torch.softmax(responses, dim=1)[:, :-1].flatten(2)
    shares = shares / (shares.sum(dim=2, keepdim=True) + 1e-6)
    centres = pixel_centres(height, width)
    places = shares @ centres
    squares = ((centres[None, None] - places[:, :, None]) ** 2).sum(dim=3) / 2
    return torch.cat([places, (shares * squares).sum(dim=2, keepdim=True)], dim=2)


def separation(places, deviation):
    distances = ((places[:, :, None] - places[:, None]) ** 2).sum(dim=3)
    near = torch.exp(-distances / (2 * deviation**2))
    others = 1 - torch.eye(places.shape[1], dtype=pseudo.COMPUTE)
    return (near * others).sum(dim=(1, 2))[:, None]


def gaussian_maps(places, deviation, height, width):
    squares = ((places[:, :, None] - pixel_centres(height, width)) ** 2).sum(dim=3)
    gaussians = torch.exp(-squares / (2 * deviation**2)) / (2 * math.pi * deviation**2 * height * width)
    background = torch.full_like(gaussians[:, :1], 1 / (height * width))
    maps = torch.cat([gaussians, background], dim=1)
    return maps / maps.sum(dim=1, keepdim=True)


def make(directory):
    name = "zha18_landmarks"
    responses = pseudo.tensor(f"{name}/responses", (2, 4, 7, 6), scale=4.0)
    save.differentiable(directory, name, SCRIPT, {}, landmarks, {"responses": responses})

    places = pseudo.tensor("zha18/places", (2, 5, 2), scale=0.3, shift=0.5)
    name = "zha18_separation"
    case = {"deviation": 0.2}
    run = lambda places: separation(places, **case)
    save.differentiable(directory, name, SCRIPT, case, run, {"places": places})

    name = "zha18_gaussian_maps"
    case = {"deviation": 0.125, "height": 6, "width": 8}
    run = lambda places: gaussian_maps(places, **case)
    save.differentiable(directory, name, SCRIPT, case, run, {"places": places})

    name = "zha18_thin_plates"
    steps = torch.arange(7, dtype=pseudo.COMPUTE) / 6
    y, x = torch.meshgrid(steps, steps, indexing="ij")
    controls = torch.stack([x.flatten(), y.flatten()], dim=1)
    values = controls + pseudo.tensor(f"{name}/moves", (49, 2), scale=0.05)
    values = pseudo.rounded(values)
    spline = RBFInterpolator(controls.numpy(), values.numpy(), kernel="thin_plate_spline", degree=1)
    points = pseudo.tensor(f"{name}/points", (20, 2), scale=0.6, shift=0.5)
    output = torch.tensor(spline(points.numpy()))
    save.write(directory, name, SCRIPT, {}, {"values": values, "points": points[None], "output": output[None]})
