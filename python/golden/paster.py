"""Pasting patches back into an empty image."""

import torch
import torch.nn.functional as F

import pseudo
import save
from sampler import BORDER, INTERIOR, LARGE, OUTSIDE

HEIGHT_PX, WIDTH_PX = 16, 20
# keypoints, box side in pixels at scale 1, patch side in pixels
CASES = {
    "interior": (INTERIOR, 6.0, 8),
    "border": (BORDER, 6.0, 8),
    "outside": (OUTSIDE, 6.0, 8),
    "magnify": (LARGE, 14.0, 4),
    "minify": (INTERIOR, 4.0, 12),
}


def paste(patches, keypoints, base_box_px):
    x, y, scale = (part[..., None] for part in keypoints.unbind(-1))  # [batch, count, 1]
    side = base_box_px * scale
    columns = torch.arange(WIDTH_PX, dtype=patches.dtype) + 0.5
    rows = torch.arange(HEIGHT_PX, dtype=patches.dtype) + 0.5
    # u = ((X - x) / side + 1/2) * P is in patch pixels; 2 u / P - 1 is what grid_sample reads.
    grid_x = (2 * (columns - x) / side)[:, :, None, :].expand(-1, -1, HEIGHT_PX, -1)
    grid_y = (2 * (rows - y) / side)[:, :, :, None].expand(-1, -1, -1, WIDTH_PX)
    grid = torch.stack([grid_x, grid_y], dim=-1).flatten(0, 1)
    layers = F.grid_sample(
        patches.flatten(0, 1), grid, mode="bilinear", padding_mode="zeros", align_corners=False
    )
    return layers.unflatten(0, patches.shape[:2]).sum(dim=1)


def make(directory):
    for kind, (keypoints, base_box_px, patch_px) in CASES.items():
        name = f"paste_{kind}"
        case = {"base_box_px": base_box_px, "patch_px": patch_px, "height_px": HEIGHT_PX, "width_px": WIDTH_PX}
        patches = pseudo.tensor(f"{name}/patches", (2, 4, 3, patch_px, patch_px))
        inputs = {"patches": patches, "keypoints": pseudo.rounded(keypoints)}
        run = lambda patches, keypoints: paste(patches, keypoints, base_box_px)
        save.differentiable(directory, name, "paster.py", case, run, inputs)
