"""What is timed. A workload is built once and then run as often as asked."""

import time
from dataclasses import dataclass

import torch
from torch.fx.experimental import optimization

import baselines
import networks
import settings
from operators import BOX_PX, PATCH_PX, extract, local_softmax, sample
from step import Trainer

SEED = 0
CLASSES = 10
PHOTOGRAPH_PX = 224


@dataclass(frozen=True)
class Sizes:
    """The released recipe's sizes; tests take smaller ones."""

    batch: int = 32
    side_px: int = 80
    instances: int = 9
    detect_images: int = 256
    detect_batches: tuple = (16, 32, 64)

    def images(self, count):
        """Noise with three equal channels."""
        return torch.rand(count, 1, self.side_px, self.side_px).expand(-1, 3, -1, -1).contiguous()

    def mean_labels(self):
        labels = torch.randint(CLASSES, (self.batch, self.instances))
        return torch.nn.functional.one_hot(labels, CLASSES).float().mean(dim=1)


def train_step(sizes, setting):
    trainer = Trainer(networks.detector(), networks.classifier(), setting, sizes.instances)
    images, mean_labels = sizes.images(sizes.batch), sizes.mean_labels()
    return lambda: trainer.step(images, mean_labels)


def forward(network, batch, setting):
    execute = setting.executor(network)
    batch = setting.arrange(batch)

    @torch.no_grad()
    def run():
        return execute(batch)

    return run


def forward_backward(network, batch, setting, with_input_gradient):
    execute = setting.executor(network)
    batch = setting.arrange(batch).requires_grad_(with_input_gradient)

    def run():
        network.zero_grad()
        batch.grad = None
        output = execute(batch)
        output.backward(torch.ones_like(output))
        return batch.grad

    return run


def detector_fwd(sizes, setting):
    return forward(networks.detector(), sizes.images(sizes.batch), setting)


def detector_fwdbwd(sizes, setting):
    return forward_backward(networks.detector(), sizes.images(sizes.batch), setting, with_input_gradient=False)


def patches(sizes):
    return torch.rand(sizes.batch * sizes.instances, 3, PATCH_PX, PATCH_PX)


def classifier_fwd(sizes, setting):
    return forward(networks.classifier(), patches(sizes), setting)


def classifier_fwdbwd(sizes, setting):
    return forward_backward(networks.classifier(), patches(sizes), setting, with_input_gradient=True)


def detect(sizes, setting):
    """Images to labels and boxes (x, y, width, height) on the host, in the fastest batches."""
    find = setting.of_detector().executor(networks.detector().eval())
    classify = setting.of_classifier().executor(networks.classifier().eval())
    softmax = setting.of_detector().compiled(local_softmax)
    images = sizes.images(sizes.detect_images)

    @torch.no_grad()
    def detect_batch(batch):
        keypoints = extract(softmax(find(batch)), sizes.instances)
        probabilities = torch.softmax(classify(sample(batch, keypoints)), dim=1)
        scores, labels = probabilities.reshape(len(batch), -1, CLASSES).max(dim=2)
        boxes = torch.cat([keypoints - BOX_PX / 2, torch.full_like(keypoints, BOX_PX)], dim=2)
        return labels.numpy(), scores.numpy(), boxes.numpy()

    def run(batch_size):
        return [detect_batch(batch) for batch in images.split(batch_size)]

    def seconds(batch_size):
        run(batch_size)
        return min(timed(lambda: run(batch_size)) for _ in range(2))

    fastest = min(sizes.detect_batches, key=seconds)
    return lambda: run(fastest)


def backbone(network, batch):
    """A torchvision network up to stride 16, in evaluation mode."""

    def build(sizes, setting):
        photographs = torch.rand(batch, 3, PHOTOGRAPH_PX, PHOTOGRAPH_PX)
        # Batch norms folded, as ours are.
        folded = optimization.fuse(network().eval())
        return forward(folded, photographs, setting)

    return build


def timed(run):
    """Wall seconds of one run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


WORKLOADS = {
    "train_step": train_step,
    "detector_fwd": detector_fwd,
    "detector_fwdbwd": detector_fwdbwd,
    "classifier_fwd": classifier_fwd,
    "classifier_fwdbwd": classifier_fwdbwd,
    "detect": detect,
    "grid_step": baselines.grid_step,
    "channelwise_step": baselines.channelwise_step,
    "xie20_step": baselines.xie20_step,
    "resnet18_b1": backbone(networks.resnet18, 1),
    "resnet18_b32": backbone(networks.resnet18, 32),
    "mobilenet_v2_b1": backbone(networks.mobilenet_v2, 1),
    "mobilenet_v2_b32": backbone(networks.mobilenet_v2, 32),
}


def setting_names(workload):
    """The settings that make a difference to a workload."""
    mixed = ["detect", "channelwise_step", "xie20_step"]
    more = {"train_step": settings.MIXED_NAMES + settings.LEAN_NAMES} | dict.fromkeys(mixed, settings.MIXED_NAMES)
    return settings.NAMES + more.get(workload, [])


def build(workload, setting, sizes=Sizes()):
    """The workload as a function without arguments; the same numbers each time."""
    if workload not in WORKLOADS:
        raise ValueError(f"unknown workload {workload!r}")
    if setting not in setting_names(workload):
        raise ValueError(f"{workload} has no setting {setting!r}")
    torch.manual_seed(SEED)
    return WORKLOADS[workload](sizes, settings.Setting.named(setting))
