"""Features of torchvision's backbones at stride 16, with weights that any language can compute again.

A tensor `name` of `architecture` is `pseudo.tensor(f"{architecture}/{name}", shape, scale, shift)`:

| tensor | scale | shift |
| --- | --- | --- |
| weight of a convolution | sqrt(3 / inputs per output) | 0 |
| weight of a norm | 0.25 | 1 |
| bias, running_mean | 0.1 | 0 |
| running_var | 0.5 | 1 |

The image is `pseudo.tensor(f"{architecture}/image", [2, 3, 72, 104], 0.5, 0.5)`; ImageNet's mean and deviation are
taken off in front of the network.
"""

import torch
import torchvision

import pseudo
import save

SCRIPT = "backbones.py"
MEAN = [0.485, 0.456, 0.406]
DEVIATION = [0.229, 0.224, 0.225]
IMAGE = [2, 3, 72, 104]


def weight(label, name, tensor):
    if name.endswith("running_var"):
        return pseudo.tensor(label, tensor.shape, 0.5, 1.0)
    if name.endswith(("bias", "running_mean")):
        return pseudo.tensor(label, tensor.shape, 0.1)
    if tensor.dim() == 1:
        return pseudo.tensor(label, tensor.shape, 0.25, 1.0)
    inputs = tensor[0].numel()
    return pseudo.tensor(label, tensor.shape, (3.0 / inputs) ** 0.5)


def resnet(network):
    names = ["conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3"]
    return torch.nn.Sequential(*[getattr(network, name) for name in names])


def mobilenet(network):
    return torch.nn.Sequential(*network.features[:14], network.features[14].conv[0])


def make(directory):
    kinds = {"resnet18": resnet, "resnet34": resnet, "mobilenet_v2": mobilenet}
    for architecture, cut in kinds.items():
        network = getattr(torchvision.models, architecture)(weights=None)
        state = {
            name: weight(f"{architecture}/{name}", name, tensor)
            for name, tensor in network.state_dict().items()
            if not name.endswith("num_batches_tracked")
        }
        network.load_state_dict(state, strict=False)
        features = cut(network).double().eval()
        image = pseudo.tensor(f"{architecture}/image", IMAGE, 0.5, 0.5)
        mean, deviation = [torch.tensor(v, dtype=pseudo.COMPUTE).reshape(1, 3, 1, 1) for v in (MEAN, DEVIATION)]
        with torch.no_grad():
            output = features((image - mean) / deviation)
        flat = output.flatten()
        every = max(1, flat.numel() // 400)
        case = {
            "architecture": architecture,
            "image": IMAGE,
            "every": every,
            "torchvision": torchvision.__version__.split("+")[0],
        }
        tensors = {"sampled": flat[::every], "shape": torch.tensor([float(side) for side in output.shape])}
        save.write(directory, f"backbone_{architecture}", SCRIPT, case, tensors)


if __name__ == "__main__":
    import make as everything

    make(everything.DEFAULT_OUTPUT)
