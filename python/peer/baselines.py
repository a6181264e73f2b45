"""Steps of the methods that share MIST's networks: grid, channel-wise and Xie20, with the settings of their recipes.

Networks are in the paper's style, with a norm before each convolution that does not read the image.
"""

import torch
import torch.nn.functional as F
from torch import nn

from operators import sample

INSTANCES = 9
CLASSES = 10
SMOOTHING = 1e-3


class Residual(nn.Module):
    """Two 3x3 convolutions beside a skip, each with a norm of its own before it."""

    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm1 = nn.GroupNorm(1, channels)
        self.norm2 = nn.GroupNorm(1, channels)

    def forward(self, x):
        y = torch.relu(self.conv1(self.norm1(x)))
        return torch.relu(x + self.conv2(self.norm2(y)))


def normed(layer, channels):
    return [nn.GroupNorm(1, channels), layer]


def encoder(base, levels, blocks, code=None):
    """Layers from one channel to the code, and the widths of the levels."""
    widths = [base << level for level in range(levels)]
    layers, inputs = [], 1
    for width in widths:
        widen = nn.Conv2d(inputs, width, 1)
        layers += [widen] if inputs == 1 else normed(widen, inputs)
        layers += [Residual(width) for _ in range(blocks)] + [nn.MaxPool2d(2)]
        inputs = width
    code = code or inputs
    layers += normed(nn.Conv2d(inputs, code, 1), inputs) + [Residual(code) for _ in range(blocks)]
    return layers, widths, code


def classifier():
    layers, _, code = encoder(base=16, levels=4, blocks=1)
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(code, CLASSES))


def autoencoder():
    layers, widths, inputs = encoder(base=16, levels=2, blocks=1, code=8)
    for width in reversed(widths):
        layers += normed(nn.ConvTranspose2d(inputs, width, 2, stride=2), inputs) + [Residual(width)]
        inputs = width
    return nn.Sequential(*layers, *normed(nn.Conv2d(inputs, 1, 1), inputs), nn.Sigmoid())


def detector(outputs):
    blocks = [Residual(16) for _ in range(6)]
    return nn.Sequential(nn.Conv2d(1, 16, 1), *blocks, *normed(nn.Conv2d(16, outputs, 1), 16))


def regions():
    layers, _, code = encoder(base=16, levels=3, blocks=1)
    return nn.Sequential(*layers, *normed(nn.Conv2d(code, 3, 1), code))


def relative_entropy(mean_labels, predicted):
    """Of each image."""
    predicted = predicted * (1 - SMOOTHING) + SMOOTHING / CLASSES
    ratio = mean_labels.clamp(min=1e-38) / predicted
    return (mean_labels * ratio.log()).sum(dim=1)


def closed_form(scores, k, epsilon):
    """Masks of optimal transport to the anchors 0 and 1."""
    with torch.no_grad():
        largest = torch.maximum(scores**2, (scores - 1) ** 2).amax(dim=1, keepdim=True)
        logits = (2 * scores - 1) / (epsilon * largest)
        high = logits.abs().amax(dim=1, keepdim=True) + 50
        low = -high
        for _ in range(60):
            middle = (low + high) / 2
            less = torch.sigmoid(logits + middle).sum(dim=1, keepdim=True) < k
            low, high = torch.where(less, middle, low), torch.where(less, high, middle)
        masks = torch.sigmoid(logits + (low + high) / 2)
        weights = masks * (1 - masks)
        slopes, shares = 2 / (epsilon * largest) * weights, weights / weights.sum(dim=1, keepdim=True)
    moved = scores - scores.detach()
    return masks + slopes * (moved - (shares * moved).sum(dim=1, keepdim=True))


def paste(patches, keypoints, box_px, side_px):
    """The sum of the patches [n * instances, 1, p, p] at their keypoints: [n, 1, side_px, side_px]."""
    batch, instances, _ = keypoints.shape
    pixels = torch.arange(side_px) + 0.5
    columns = (pixels - keypoints[:, :, :1]) * 2 / box_px
    rows = (pixels - keypoints[:, :, 1:]) * 2 / box_px
    shape = (batch, instances, side_px, side_px)
    grid = torch.stack([columns[:, :, None, :].expand(shape), rows[:, :, :, None].expand(shape)], dim=-1)
    images = F.grid_sample(patches, grid.flatten(0, 1), padding_mode="zeros", align_corners=False)
    return images.reshape(batch, instances, side_px, side_px).sum(dim=1, keepdim=True)


def soft_argmax(maps, strength=10.0):
    """Mean places [n, channels, 2] of each channel's softmax over the image."""
    _, _, height, width = maps.shape
    shares = torch.softmax(strength * maps.flatten(2), dim=2)
    y, x = torch.meshgrid(torch.arange(height) + 0.5, torch.arange(width) + 0.5, indexing="ij")
    return shares @ torch.stack([x.flatten(), y.flatten()], dim=1)


def places(side_px, cells):
    """Centres of the cells of a grid, row by row: [cells * cells, 2]."""
    centres = (torch.arange(cells) + 0.5) * side_px / cells
    y, x = torch.meshgrid(centres, centres, indexing="ij")
    return torch.stack([x.flatten(), y.flatten()], dim=1)


def grid_losses(run, images):
    side_px = images.shape[3]
    keypoints = places(side_px, 3).expand(len(images), -1, -1)
    redrawn = run["task"](sample(images, keypoints, side_px / 3))
    return (images - paste(redrawn, keypoints, side_px / 3, side_px)).square().sum(dim=(1, 2, 3))


def channelwise_losses(run, images):
    box_px = 25.0  # With its context.
    keypoints = soft_argmax(run["detector"](images))
    redrawn = run["task"](sample(images, keypoints, box_px))
    return (images - paste(redrawn, keypoints, box_px, images.shape[3])).square().sum(dim=(1, 2, 3))


def xie20_losses(run, images, mean_labels, stride_px=8, offset_cells=0.5):
    maps = run["detector"](images)
    batch, _, rows, _ = maps.shape
    offsets = torch.tanh(maps[:, 1:].flatten(2).transpose(1, 2)) * offset_cells * stride_px
    keypoints = places(images.shape[3], rows) + offsets
    masks = closed_form(maps[:, 0].flatten(1), INSTANCES, 0.1)
    logits = run["task"](sample(images, keypoints, 20.0, patch_px=16))
    probabilities = torch.softmax(logits, dim=1).reshape(batch, -1, CLASSES)
    predicted = (probabilities * masks[:, :, None]).sum(dim=1) / INSTANCES
    return relative_entropy(mean_labels, predicted)


def step(networks, losses, setting, *data):
    """A function that takes one step of Adam on all networks, and returns the loss before it."""
    choose = {"detector": setting.of_detector(), "task": setting.of_classifier()}
    run = {name: choose[name].executor(network) for name, network in networks.items()}
    parameters = [parameter for network in networks.values() for parameter in network.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=1e-3, fused=True)

    def once():
        optimiser.zero_grad()
        loss = losses(run, *data).mean()
        loss.backward()
        optimiser.step()
        return loss.item()

    return once


def scenes(sizes):
    return torch.rand(sizes.batch // 2, 1, sizes.side_px, sizes.side_px)


def grid_step(sizes, setting):
    return step({"task": autoencoder()}, grid_losses, setting, scenes(sizes))


def channelwise_step(sizes, setting):
    networks = {"detector": detector(INSTANCES), "task": autoencoder()}
    return step(networks, channelwise_losses, setting, scenes(sizes))


def xie20_step(sizes, setting):
    networks = {"detector": regions(), "task": classifier()}
    images = scenes(sizes)
    mean_labels = sizes.mean_labels()[: len(images)]
    return step(networks, xie20_losses, setting, images, mean_labels)
