"""The losses, one value per image."""

import torch
import torch.nn.functional as F

import pseudo
import save

SCRIPT = "losses.py"


def squared_distance(a, b):
    return ((a - b) ** 2).flatten(1).sum(dim=1)


def multi_instance(logits, mean_labels):
    predicted = torch.softmax(logits, dim=-1).mean(dim=1)
    return ((mean_labels - predicted) ** 2).sum(dim=1)


def offset(predicted, target, mask):
    huber = F.huber_loss(predicted, target, reduction="none", delta=1.0)
    return (huber * mask).sum(dim=(1, 2, 3)) / mask.sum(dim=(1, 2, 3)).clamp(min=1.0)


def make(directory):
    name = "reconstruction_loss"
    inputs = {key: pseudo.tensor(f"{name}/{key}", (2, 3, 5, 4)) for key in ("images", "reconstruction")}
    run = lambda images, reconstruction: squared_distance(images, reconstruction)
    save.differentiable(directory, name, SCRIPT, {}, run, inputs)

    name = "multi_instance_loss"
    labels = (pseudo.tensor(f"{name}/labels", (3, 9), scale=5.0, shift=5.0)).long()
    mean_labels = pseudo.rounded(F.one_hot(labels, 10).double().mean(dim=1))
    logits = pseudo.tensor(f"{name}/logits", (3, 9, 10), scale=3.0)
    case = {"instances": 9, "classes": 10}
    save.differentiable(
        directory, name, SCRIPT, case, multi_instance, {"logits": logits}, {"mean_labels": mean_labels}
    )

    name = "heatmap_loss"
    heatmap, target = (
        pseudo.tensor(f"{name}/{key}", (2, 5, 6, 7), scale=0.49, shift=0.5) for key in ("heatmap", "target")
    )
    run = lambda heatmap, target: squared_distance(heatmap, target)
    save.differentiable(directory, name, SCRIPT, {}, run, {"heatmap": heatmap}, {"target": target})

    name = "offset_loss"
    predicted = pseudo.tensor(f"{name}/predicted", (2, 2, 6, 7), scale=2.0)
    target = pseudo.tensor(f"{name}/target", (2, 2, 6, 7), scale=0.5)
    mask = (pseudo.tensor(f"{name}/mask", (2, 1, 6, 7)) > 0.2).to(pseudo.COMPUTE)
    mask[1] = 0.0
    masked = (predicted - target)[0][:, mask[0, 0] > 0].abs()
    assert (masked < 1).sum() > 5 and (masked > 1).sum() > 5
    constants = {"target": target, "mask": mask}
    save.differentiable(directory, name, SCRIPT, {"huber_delta": 1.0}, offset, {"predicted": predicted}, constants)
