"""Turning keypoints back into heatmaps."""

import math

import torch

import levels as scale_levels
import pseudo
import save

SCRIPT = "splat.py"
HEIGHT_PX, WIDTH_PX = 16, 20


def zeros(*shape):
    return torch.zeros(shape, dtype=pseudo.COMPUTE)


def clamp(value, low, high):
    return min(max(value, low), high)


def shares(scale, levels):
    """Mass per level; the levels weighted by it average to the scale."""
    mass = [0.0] * len(levels)
    scale = clamp(scale, levels[0], levels[-1])
    upper = next(index for index, level in enumerate(levels) if level >= scale)
    if levels[upper] == scale:
        mass[upper] = 1.0
    else:
        low, high = levels[upper - 1], levels[upper]
        mass[upper] = (scale - low) / (high - low)
        mass[upper - 1] = (high - scale) / (high - low)
    return mass


def splat_points(keypoints, levels):
    output = zeros(len(keypoints), len(levels), HEIGHT_PX, WIDTH_PX)
    for image, points in zip(output, keypoints.tolist()):
        for x, y, scale in points:
            row = clamp(math.floor(y), 0, HEIGHT_PX - 1)
            column = clamp(math.floor(x), 0, WIDTH_PX - 1)
            mass = torch.tensor(shares(scale, levels.tolist()), dtype=pseudo.COMPUTE)
            image[:, row, column] = torch.maximum(image[:, row, column], mass)
    return output


def splat_gaussians(keypoints, variant, stride_px, cells, box_px):
    width = box_px / stride_px / 8
    variance = width if variant == "paper" else width**2
    shift = 0.5 if variant == "paper" else 0.0
    response, offsets, mask = (zeros(len(keypoints), maps, cells, cells) for maps in (1, 2, 1))
    index = torch.arange(cells, dtype=pseudo.COMPUTE)
    for image, points in enumerate(keypoints.tolist()):
        for x, y, _ in points:
            q = [x / stride_px - 0.5, y / stride_px - 0.5]
            column, row = (clamp(math.floor(value + shift), 0, cells - 1) for value in q)
            assert mask[image, 0, row, column] == 0
            squared = (index - column)[None, :] ** 2 + (index - row)[:, None] ** 2
            response[image, 0] += torch.exp(-0.5 * squared / variance)
            offsets[image, :, row, column] = torch.tensor([q[0] - column, q[1] - row], dtype=pseudo.COMPUTE)
            mask[image, 0, row, column] = 1.0
    return {"response": response, "offsets": offsets, "mask": mask}


def make(directory):
    levels = scale_levels.ascending()
    keypoints = pseudo.rounded([
        # Below the smallest level, above the largest, on a level, between two.
        [(3.2, 4.7, 0.5), (15.9, 12.1, 2.0), (8.0, 9.5, float(levels[3])), (12.6, 2.4, 0.93)],
        # Beyond two corners; two keypoints in one pixel that share a level.
        [(-0.4, -2.0, 1.3), (20.3, 16.0, 0.75), (6.1, 11.9, 1.05), (6.8, 11.2, 1.1)],
    ])
    size = {"height_px": HEIGHT_PX, "width_px": WIDTH_PX}
    for name, used in {"splat_scales": levels, "splat_single": pseudo.rounded([1.0])}.items():
        tensors = {"keypoints": keypoints, "levels": used, "output": splat_points(keypoints, used)}
        save.write(directory, name, SCRIPT, {**size, "levels": used.tolist()}, tensors)

    keypoints = pseudo.rounded([
        # Near enough to add up; rounding and flooring differ in all coordinates but the last.
        [(70.3, 101.2, 1.0), (116.9, 93.9, 1.0)],
        # Before the first cell's centre and beyond the last one's.
        [(3.1, 40.4, 1.0), (222.6, 229.5, 1.0)],
    ])
    case = {"stride_px": 16, "cells": 14, "box_px": 112.0}
    for variant in ("paper", "official"):
        tensors = {"keypoints": keypoints, **splat_gaussians(keypoints, variant, **case)}
        save.write(directory, f"splat_gaussian_{variant}", SCRIPT, {**case, "variant": variant}, tensors)
