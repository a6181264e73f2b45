"""A training of the released recipe whose images come from the other side of the pipe."""

import numpy
import torch

import networks
from operators import BOX_PX, extract, sample
from settings import Setting
from step import Trainer

CLASSES = 10


class Training:
    """Networks in training, from random weights."""

    def __init__(self, setting, seed, instances):
        torch.manual_seed(seed)
        self.detector, self.classifier = networks.detector(), networks.classifier()
        self.trainer = Trainer(self.detector, self.classifier, Setting.named(setting), instances)
        self.instances = instances

    def step(self, images, counts):
        counts = torch.tensor(counts, dtype=torch.float32)
        task_loss, _ = self.trainer.step(decoded(images), counts / counts.sum(dim=1, keepdim=True))
        return task_loss

    @torch.no_grad()
    def detect(self, images):
        """Of each image [x, y, score, label] of every box, x and y of its top left corner."""
        images = decoded(images)
        self.detector.eval()
        self.classifier.eval()
        heatmap = self.trainer.local_softmax(self.trainer.detect(images))
        keypoints = extract(heatmap, self.instances)
        probabilities = torch.softmax(self.trainer.classify(sample(images, keypoints)), dim=1)
        _, labels = probabilities.reshape(len(images), -1, CLASSES).max(dim=2)
        x, y = keypoints.long().unbind(dim=2)
        scores = heatmap[torch.arange(len(images))[:, None], 0, y, x]
        corners = keypoints - BOX_PX / 2
        found = torch.cat([corners, scores[:, :, None], labels[:, :, None].float()], dim=2)
        self.detector.train()
        self.classifier.train()
        return found.tolist()


def decoded(images):
    """[n, 3, side, side] in 0..1 of {"side", "bytes"}: gray values 0 to 255 in hexadecimal."""
    values = numpy.frombuffer(bytes.fromhex(images["bytes"]), dtype=numpy.uint8)
    gray = torch.from_numpy(values.copy()).reshape(-1, 1, images["side"], images["side"])
    return (gray.float() / 255).expand(-1, 3, -1, -1).contiguous()
