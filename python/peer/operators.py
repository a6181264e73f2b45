"""What stands between the networks: heatmap, keypoints, patches and losses.

Coordinates are pixels, x before y, the first pixel's centre at (0.5, 0.5).
"""

import torch
import torch.nn.functional as F

SOFTMAX_WINDOW_PX = 15
SOFTMAX_STRENGTH = 10.0
SOFTMAX_EPSILON = 1e-6
NMS_WINDOW_PX = 5
BOX_PX = 20
PATCH_PX = 32


def local_softmax(logits):
    """Heatmap [n, 1, h, w]; the border takes its window sums from the nearest full window."""
    window = SOFTMAX_WINDOW_PX
    e = torch.exp(SOFTMAX_STRENGTH * (logits - logits.amax(dim=(2, 3), keepdim=True)))
    # A window's mean is the mean of its rows' means: two narrow pools are faster than a square one.
    means = F.avg_pool2d(F.avg_pool2d(e, (1, window), stride=1), (window, 1), stride=1)
    sums = F.pad(means * window**2, (window // 2,) * 4, mode="replicate")
    return e / (sums + SOFTMAX_EPSILON)


@torch.no_grad()
def extract(heatmap, instances):
    """Keypoints [n, instances, 2]: the highest pixels that are their neighbourhood's maximum."""
    highest = F.max_pool2d(heatmap, NMS_WINDOW_PX, stride=1, padding=NMS_WINDOW_PX // 2)
    survivors = torch.where(heatmap >= highest, heatmap, 0.0)
    places = survivors.flatten(1).topk(instances).indices
    width = heatmap.shape[3]
    return torch.stack([places % width, places // width], dim=-1) + 0.5


def sample(images, keypoints, box_px=BOX_PX, patch_px=PATCH_PX):
    """Patches [n * instances, channels, patch_px, patch_px] of the boxes around the keypoints."""
    batch, channels, height, width = images.shape
    instances = keypoints.shape[1]
    offsets = box_px * ((torch.arange(patch_px) + 0.5) / patch_px - 0.5)
    columns = 2 * (keypoints[:, :, :1] + offsets) / width - 1
    rows = 2 * (keypoints[:, :, 1:] + offsets) / height - 1
    shape = (batch, instances, patch_px, patch_px)
    grid = torch.stack([columns[:, :, None, :].expand(shape), rows[:, :, :, None].expand(shape)], dim=-1)
    # One tall patch per image, so that no image has to be repeated for each of its keypoints.
    grid = grid.reshape(batch, instances * patch_px, patch_px, 2)
    patches = F.grid_sample(images, grid, padding_mode="zeros", align_corners=False)
    patches = patches.reshape(batch, channels, instances, patch_px, patch_px)
    return patches.transpose(1, 2).flatten(0, 1)


def splat(keypoints, height, width):
    """Target [n, 1, height, width]: 1 at the pixels that hold the keypoints."""
    batch = keypoints.shape[0]
    x = keypoints[:, :, 0].long().clamp(0, width - 1)
    y = keypoints[:, :, 1].long().clamp(0, height - 1)
    target = torch.zeros(batch, height * width).scatter_(1, y * width + x, 1.0)
    return target.reshape(batch, 1, height, width)


def task_losses(logits, mean_labels):
    """Per image, half the squared distance between the mean label and the mean softmax.

    Shapes: logits [n * instances, classes], mean_labels [n, classes].
    """
    batch, classes = mean_labels.shape
    predicted = torch.softmax(logits, dim=-1).reshape(batch, -1, classes).mean(dim=1)
    return 0.5 * (predicted - mean_labels).square().sum(dim=1)


def heatmap_losses(heatmap, target):
    """Per image, the mean square over pixels."""
    return (heatmap - target).square().mean(dim=(1, 2, 3))
