"""Cutting patches out of images."""

import torch
import torch.nn.functional as F

import pseudo
import save

SCRIPT = "sampler.py"
INTERIOR = [
    [(6.31, 7.13, 1.0), (12.77, 6.42, 0.71), (9.37, 9.21, 1.29), (14.18, 10.64, 0.9)],
    [(5.23, 5.57, 1.13), (10.08, 8.03, 1.4), (14.91, 5.86, 0.83), (7.66, 10.79, 0.95)],
]
# Left, right, top, bottom; then the four corners.
BORDER = [
    [(0.62, 7.9, 1.0), (19.11, 8.23, 1.22), (9.84, 0.37, 0.8), (11.27, 15.43, 1.37)],
    [(0.81, 1.14, 1.1), (19.36, 0.58, 0.9), (-0.73, 15.22, 1.4), (20.44, 16.61, 1.27)],
]
# Beyond each border; then beyond the corners and far away.
OUTSIDE = [
    [(-6.2, 8.1, 1.0), (27.3, 7.4, 1.3), (10.6, -5.9, 0.8), (8.8, 22.7, 1.1)],
    [(-7.1, -6.4, 1.2), (26.5, 23.9, 0.9), (-140.0, 300.0, 1.4), (1000.0, 8.0, 0.7)],
]
LARGE = [
    [(9.83, 7.71, 0.78), (11.46, 8.62, 1.0), (6.12, 9.33, 0.93), (13.57, 6.88, 1.12)],
    [(10.21, 8.14, 1.4), (8.04, 7.27, 0.7), (3.76, 3.19, 0.85), (16.58, 12.91, 1.07)],
]
PIXEL_CENTRES = [
    [(6.5, 7.5, 1.0), (12.5, 6.5, 1.0), (9.5, 9.5, 1.0), (2.5, 2.5, 1.0)],
    [(16.5, 12.5, 1.0), (10.5, 8.5, 1.0), (14.5, 3.5, 1.0), (3.5, 10.5, 1.0)],
]
# keypoints, box side in pixels at scale 1, patch side in pixels
CASES = {
    "interior": (INTERIOR, 6.0, 8),
    "border": (BORDER, 6.0, 8),
    "outside": (OUTSIDE, 6.0, 8),
    "minify": (LARGE, 14.0, 4),
    "odd": (PIXEL_CENTRES, 5.0, 5),
}


def sample(images, keypoints, base_box_px, patch_px, nudge_px=0.0):
    batch, channels, height, width = images.shape
    count = keypoints.shape[1]
    x, y, scale = (part[..., None] for part in keypoints.unbind(-1))  # [batch, count, 1]
    steps = (torch.arange(patch_px, dtype=images.dtype) + 0.5) / patch_px - 0.5
    columns = x + steps * base_box_px * scale + nudge_px
    rows = y + steps * base_box_px * scale + nudge_px
    grid_x = (2 * columns / width - 1)[:, :, None, :].expand(-1, -1, patch_px, -1)
    grid_y = (2 * rows / height - 1)[:, :, :, None].expand(-1, -1, -1, patch_px)
    grid = torch.stack([grid_x, grid_y], dim=-1).flatten(0, 1)
    repeated = images.repeat_interleave(count, dim=0)
    patches = F.grid_sample(repeated, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    return patches.reshape(batch, count, channels, patch_px, patch_px)


def make(directory):
    images = pseudo.tensor("sample/images", (2, 3, 16, 20))
    for kind, (keypoints, base_box_px, patch_px) in CASES.items():
        case = {"base_box_px": base_box_px, "patch_px": patch_px}
        # Between two pixels the slope jumps at a pixel's centre. There the derivative to the right
        # is stored: the samples are moved by far less than what float32 can tell apart.
        nudge_px = 1e-12 if kind == "odd" else 0.0
        if nudge_px:
            case["derivative"] = "right"
        run = lambda images, keypoints: sample(images, keypoints, base_box_px, patch_px, nudge_px)
        inputs = {"images": images, "keypoints": pseudo.rounded(keypoints)}
        save.differentiable(directory, f"sample_{kind}", SCRIPT, case, run, inputs)
