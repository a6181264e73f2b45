"""Weights every scale's heatmap by its share among the scales."""

import pseudo
import save

EPSILON = 1e-6


def scale_fusion(heatmaps):
    return heatmaps * heatmaps / (heatmaps + EPSILON).sum(dim=1, keepdim=True)


def make(directory):
    heatmaps = pseudo.tensor("scale_fusion/heatmaps", (2, 5, 6, 7), scale=0.49, shift=0.5)
    with_zeros = heatmaps.clone()
    with_zeros[0, :, 1:3, 2:5] = 0.0  # nothing at any scale
    with_zeros[1, 1:, 4, :] = 0.0  # one scale only
    for name, values in {"scale_fusion": heatmaps, "scale_fusion_zeros": with_zeros}.items():
        case = {"epsilon": EPSILON}
        save.differentiable(directory, name, "scale_fusion.py", case, scale_fusion, {"heatmaps": values})
