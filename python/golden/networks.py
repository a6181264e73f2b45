"""Single layers, and the whole networks made of them."""

from torch import nn

import pseudo
import save
from layers import Dense, Residual, describe, fill, flat_gradient, norm

SCRIPT = "networks.py"


def official_block(channels, padding="same"):
    return Residual(channels, padding, "after", shared=True)


def paper_block(channels):
    return Residual(channels, "same", "before", shared=False)


def detector_official():
    blocks = [official_block(32, "valid") for _ in range(4)]
    return nn.Sequential(
        nn.ReflectionPad2d(8), nn.BatchNorm2d(3), nn.Conv2d(3, 32, 1), *blocks, nn.Conv2d(32, 1, 1)
    )


def detector_paper(channels=32, blocks=4):
    middle = [paper_block(channels) for _ in range(blocks)]
    return nn.Sequential(nn.Conv2d(1, channels, 1), *middle, norm(channels), nn.Conv2d(channels, 1, 1))


def encoder(channels, block, with_norms):
    layers = []
    for width in (8, 16, 32, 64, 128, 128):
        if with_norms and layers:
            layers.append(norm(channels))
        layers += [nn.Conv2d(channels, width, 1), block(width), block(width), block(width), nn.MaxPool2d(2)]
        channels = width
    return layers[:-1]


def decoder():
    layers, channels = [], 128
    for width in (128, 64, 32, 16, 8):
        layers += [norm(channels), nn.ConvTranspose2d(channels, width, 2, stride=2)]
        layers += [paper_block(width) for _ in range(3)]
        channels = width
    return [*layers, norm(8), nn.Conv2d(8, 1, 1), nn.Sigmoid()]


def single_layers():
    """Name, layer and the shape of its input."""
    shape = (2, 4, 7, 6)
    yield "conv3_same", nn.Conv2d(4, 5, 3, padding=1), shape
    yield "conv3_valid", nn.Conv2d(4, 5, 3), shape
    yield "conv1", nn.Conv2d(4, 5, 1), shape
    for placement in ("before", "after"):
        for padding in ("same", "valid"):
            for sharing in ("shared", "own"):
                block = Residual(4, padding, placement, sharing == "shared")
                yield f"residual_{placement}_{padding}_{sharing}", block, shape
    yield "norm", norm(4), shape
    yield "upconv", nn.ConvTranspose2d(4, 3, 2, stride=2), shape
    yield "maxpool", nn.MaxPool2d(2), shape
    yield "dense", Dense(4, 5), (2, 4, 1, 1)
    yield "sigmoid", nn.Sigmoid(), shape
    yield "softmax", nn.Softmax(dim=1), shape
    yield "global_average", nn.AdaptiveAvgPool2d(1), shape
    yield "reflect_pad", nn.ReflectionPad2d(3), shape
    yield "batch_norm", nn.BatchNorm2d(3), (2, 3, 7, 6)
    yield "batch_norm_running", nn.BatchNorm2d(3), (2, 3, 7, 6)
    yield "softplus", nn.Softplus(), shape


def whole_networks():
    """Name, salt, network, shape of its input, stride of the stored gradient, known parameter count.

    Deep random networks amplify rounding; the salts of the paper's are ones that do so less than others.
    """
    yield "detector_official", 101, detector_official(), (2, 3, 20, 24), 13, 74_407
    yield "detector_paper", 102, detector_paper(), (2, 1, 20, 24), 13, None
    official = encoder(3, official_block, with_norms=False)
    official = nn.Sequential(*official, Dense(128, 10))
    yield "classifier_official", 103, official, (2, 3, 32, 32), 211, 2_096_698
    paper = encoder(1, paper_block, with_norms=True)
    yield "classifier_paper", 129, nn.Sequential(*paper, Dense(128, 10)), (2, 1, 32, 32), 211, None
    paper = encoder(1, paper_block, with_norms=True)
    yield "autoencoder_paper", 118, nn.Sequential(*paper, *decoder()), (2, 1, 32, 32), 211, None


def run(directory, name, salt, network, shape, stride=None, known_count=None, running=None):
    count = fill(network, salt)
    assert known_count in (None, count), (name, count)
    statistics = running or {}
    if running:
        network.eval()
        network[0].running_mean.copy_(running["running_mean"])
        network[0].running_var.copy_(running["running_var"])
    images = save.leaf(pseudo.tensor(f"{name}/input", shape))
    output = network(images)
    cotangent = save.backward(name, output)
    gradient = flat_gradient(network)
    case = {"salt": salt, "layers": describe(network), "parameter_count": count}
    tensors = {"input": images, "output": output, "cotangent": cotangent, "grad_input": images.grad, **statistics}
    if stride:
        case["stride"] = stride
        tensors["grad_parameters_sample"] = gradient[::stride]
    else:
        tensors["grad_parameters"] = gradient
    save.write(directory, name, SCRIPT, case, tensors)


def make(directory):
    for salt, (kind, layer, shape) in enumerate(single_layers(), start=1):
        running = None
        if kind == "batch_norm_running":
            running = {
                "running_mean": pseudo.tensor("net_batch_norm_running/mean", (3,), scale=0.5),
                "running_var": pseudo.tensor("net_batch_norm_running/var", (3,), scale=0.4, shift=1.0),
            }
        run(directory, f"net_{kind}", salt, nn.Sequential(layer), shape, running=running)
    for kind, salt, network, shape, stride, known_count in whole_networks():
        run(directory, f"net_{kind}", salt, network, shape, stride, known_count)
