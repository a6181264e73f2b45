"""Runs official steps from given weights on given batches and writes the losses of each step.

The data file (.npz or .safetensors) holds `images` [n, batch, 3, side, side], uint8 or floats in 0..1, and
`counts` [n, batch, classes]; the weights file holds the flat vectors `detector` and `classifier`. Step i
takes batch i modulo n.
"""

import argparse
import json

import numpy
import torch
from safetensors.torch import load_file

import networks
from settings import Setting
from step import Trainer


def read(path):
    if path.endswith(".npz"):
        with numpy.load(path) as arrays:
            return {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    return load_file(path)


def curve(data, weights, steps, setting, instances):
    detector, classifier = networks.detector(), networks.classifier()
    networks.load_flat(detector, weights["detector"])
    networks.load_flat(classifier, weights["classifier"])
    trainer = Trainer(detector, classifier, setting, instances)
    task, heatmap = [], []
    for step in range(steps):
        batch = step % len(data["images"])
        images, counts = data["images"][batch], data["counts"][batch].float()
        images = images.float() / 255 if images.dtype == torch.uint8 else images.float()
        task_loss, heatmap_loss = trainer.step(images, counts / counts.sum(dim=1, keepdim=True))
        task.append(task_loss)
        heatmap.append(heatmap_loss)
    return {"task_loss": task, "heatmap_loss": heatmap}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("weights")
    parser.add_argument("output", help="JSON file to write")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--setting", default="eager-f32")
    parser.add_argument("--instances", type=int, default=9)
    arguments = parser.parse_args()
    setting = Setting.named(arguments.setting)
    losses = curve(read(arguments.data), read(arguments.weights), arguments.steps, setting, arguments.instances)
    with open(arguments.output, "w") as file:
        json.dump({"torch": torch.__version__, "setting": arguments.setting, **losses}, file)


if __name__ == "__main__":
    main()
