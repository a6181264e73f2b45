"""Layers whose parameters, in the order of registration, form the flat vector."""

import json
import math

import torch
from torch import nn

import pseudo


def norm(channels):
    return nn.GroupNorm(1, channels, eps=1e-5)


class Dense(nn.Linear):
    """Dense layer on a single pixel."""

    def forward(self, x):
        return super().forward(x.flatten(1))[:, :, None, None]


class Residual(nn.Module):
    """Two 3x3 convolutions beside a skip."""

    def __init__(self, channels, padding, placement, shared):
        super().__init__()
        border = {"same": 1, "valid": 0}[padding]
        self.style = {"padding": padding, "norm": placement, "shared_norm": shared}
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=border)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=border)
        self.norm1 = norm(channels)
        if not shared:
            self.norm2 = norm(channels)

    def forward(self, x):
        second_norm = self.norm1 if self.style["shared_norm"] else self.norm2
        if self.style["norm"] == "after":
            y = torch.relu(self.norm1(self.conv1(x)))
            y = second_norm(self.conv2(y))
        else:
            y = torch.relu(self.conv1(self.norm1(x)))
            y = self.conv2(second_norm(y))
        skipped = x[:, :, 2:-2, 2:-2] if self.style["padding"] == "valid" else x
        return torch.relu(skipped + y)


def own_parameters(module):
    """Weight and bias, each with the factor and the summand that turn `unit` into its values."""
    if isinstance(module, nn.ConvTranspose2d):
        fan_in = module.in_channels
    elif isinstance(module, nn.Conv2d):
        fan_in = module.in_channels * module.kernel_size[0] * module.kernel_size[1]
    elif isinstance(module, nn.Linear):
        fan_in = module.in_features
    else:
        return [(module.weight, 0.3, 1.0), (module.bias, 0.2, 0.0)]
    return [(module.weight, math.sqrt(3.0 / fan_in), 0.0), (module.bias, 0.1, 0.0)]


def fill(network, salt):
    """Sets all parameters from the formula, and counts them."""
    network.to(pseudo.COMPUTE)
    count = sum(parameter.numel() for parameter in network.parameters())
    values = pseudo.unit(salt, count)
    start = 0
    for module in network.modules():
        if next(module.parameters(recurse=False), None) is None:
            continue
        for parameter, scale, shift in own_parameters(module):
            part = values[start : start + parameter.numel()]
            parameter.data = pseudo.rounded(shift + scale * part).reshape(parameter.shape)
            start += parameter.numel()
    assert start == count
    return count


def flat_gradient(network):
    """Gradients of all parameters, end to end."""
    parts = [parameter.grad.flatten() for parameter in network.parameters()]
    return torch.cat([torch.zeros(0, dtype=pseudo.COMPUTE), *parts])


def describe(network):
    """The layers as JSON, in words that the description of networks uses too."""
    return json.dumps([layer_words(layer) for layer in network], separators=(",", ":"))


def layer_words(layer):
    if isinstance(layer, Residual):
        return {"kind": "residual", **layer.style}
    if isinstance(layer, nn.ConvTranspose2d):
        return {"kind": "up_conv2", "out_channels": layer.out_channels}
    if isinstance(layer, nn.Conv2d) and layer.kernel_size == (1, 1):
        return {"kind": "conv1x1", "out_channels": layer.out_channels}
    if isinstance(layer, nn.Conv2d):
        padding = "same" if layer.padding == (1, 1) else "valid"
        return {"kind": "conv3x3", "out_channels": layer.out_channels, "padding": padding}
    if isinstance(layer, Dense):
        return {"kind": "dense", "out_features": layer.out_features}
    if isinstance(layer, nn.ReflectionPad2d):
        return {"kind": "reflect_pad", "px": layer.padding[0]}
    kinds = {
        nn.BatchNorm2d: "batch_norm",
        nn.GroupNorm: "norm",
        nn.MaxPool2d: "max_pool2",
        nn.AdaptiveAvgPool2d: "global_average_pool",
        nn.Sigmoid: "sigmoid",
        nn.Softmax: "softmax",
        nn.Softplus: "softplus",
    }
    return {"kind": kinds[type(layer)]}
