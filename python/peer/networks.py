"""The released recipe's two networks, and torchvision's backbones.

Their parameters, in the order of registration, are the flat vectors that the Rust networks use.
"""

import torch
import torchvision
from torch import nn

DETECTOR_PARAMETERS = 74_407
CLASSIFIER_PARAMETERS = 2_096_698


class Residual(nn.Module):
    """Two 3x3 convolutions beside a skip; one norm serves both."""

    def __init__(self, channels, padded):
        super().__init__()
        self.padded = padded
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=int(padded))
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=int(padded))
        self.norm = nn.GroupNorm(1, channels)

    def forward(self, x):
        y = torch.relu(self.norm(self.conv1(x)))
        y = self.norm(self.conv2(y))
        skip = x if self.padded else x[:, :, 2:-2, 2:-2]
        return torch.relu(skip + y)


def detector(channels=32, blocks=4):
    """Images [n, 3, h, w] to logits [n, 1, h, w]; the border is mirrored as far as the convolutions eat it."""
    layers = [nn.ReflectionPad2d(2 * blocks), nn.BatchNorm2d(3), nn.Conv2d(3, channels, 1)]
    layers += [Residual(channels, padded=False) for _ in range(blocks)]
    network = nn.Sequential(*layers, nn.Conv2d(channels, 1, 1))
    assert count(network) == DETECTOR_PARAMETERS
    return network


def classifier(classes=10):
    """Patches [n, 3, 32, 32] to logits [n, classes]."""
    layers, inputs = [], 3
    for width in (8, 16, 32, 64, 128, 128):
        layers += [nn.Conv2d(inputs, width, 1)]
        layers += [Residual(width, padded=True) for _ in range(3)]
        layers += [nn.MaxPool2d(2)]
        inputs = width
    layers[-1] = nn.Flatten()  # The sixth stage is a single pixel already.
    network = nn.Sequential(*layers, nn.Linear(inputs, classes))
    assert count(network) == CLASSIFIER_PARAMETERS
    return network


def resnet18():
    """torchvision's, up to stride 16."""
    network = torchvision.models.resnet18(weights=None)
    names = ["conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3"]
    return nn.Sequential(*[getattr(network, name) for name in names])


def mobilenet_v2():
    """torchvision's, up to the expansion at stride 16."""
    network = torchvision.models.mobilenet_v2(weights=None)
    return nn.Sequential(*network.features[:14], network.features[14].conv[0])


def count(network):
    return sum(parameter.numel() for parameter in network.parameters())


def load_flat(network, values):
    """Sets all parameters from one vector."""
    if values.shape != (count(network),):
        raise ValueError(f"expected {count(network)} parameters, not {tuple(values.shape)}")
    parameters = list(network.parameters())
    parts = values.float().split([parameter.numel() for parameter in parameters])
    with torch.no_grad():
        for parameter, part in zip(parameters, parts):
            parameter.copy_(part.reshape(parameter.shape))
