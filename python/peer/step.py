"""One training step of the released recipe: keypoints, then task, then detector (Algorithm 1, reordered)."""

from contextlib import contextmanager

import torch

from operators import extract, heatmap_losses, local_softmax, sample, splat, task_losses

LEARNING_RATE = 1e-4
KEYPOINT_LEARNING_RATE = 1e4
KEYPOINT_STEPS = 2
EASY_IMAGE_WEIGHT = 5.0


@contextmanager
def frozen(network):
    """Without gradients of the weights. The compiler decides this in the forward pass, so asking
    `autograd.grad` for the keypoints alone would not spare them."""
    network.requires_grad_(False)
    yield
    network.requires_grad_(True)


class Trainer:
    """Both networks and their optimisers.

    A lean setting leaves out what the released code computes without need: the weights' gradients in the
    keypoint stage and a forward pass for the log. Both kinds give the same weights.
    """

    def __init__(self, detector, classifier, setting, instances):
        self.classifier = classifier
        self.lean = setting.lean
        self.instances = instances
        self.detect = setting.of_detector().executor(detector)
        self.classify = setting.of_classifier().executor(classifier)
        self.local_softmax = setting.of_detector().compiled(local_softmax)
        self.detector_optimiser = torch.optim.Adam(detector.parameters(), lr=LEARNING_RATE, fused=True)
        self.task_optimiser = torch.optim.Adam(classifier.parameters(), lr=LEARNING_RATE, fused=True)

    def step(self, images, mean_labels):
        """The losses before the step: task (at the moved keypoints) and heatmap (weighted), batch means."""
        heatmap = self.local_softmax(self.detect(images))
        keypoints = extract(heatmap.detach(), self.instances)
        if self.lean:
            keypoints = self.move_keypoints_lean(images, keypoints, mean_labels)
        else:
            with torch.no_grad():  # For the log.
                self.classify(sample(images, keypoints)).argmax(dim=1)
            keypoints = self.move_keypoints(images, keypoints, mean_labels)
        losses = self.train_task(images, keypoints, mean_labels)
        heatmap_loss = self.train_detector(heatmap, keypoints, losses)
        return losses.mean().item(), heatmap_loss.item()

    def task_losses(self, images, keypoints, mean_labels):
        return task_losses(self.classify(sample(images, keypoints)), mean_labels)

    def move_keypoints(self, images, keypoints, mean_labels):
        keypoints = keypoints.clone().requires_grad_()
        optimiser = torch.optim.SGD([keypoints], lr=KEYPOINT_LEARNING_RATE)
        for _ in range(KEYPOINT_STEPS):
            optimiser.zero_grad()
            self.task_losses(images, keypoints, mean_labels).mean().backward()
            optimiser.step()
        return keypoints.detach()

    def move_keypoints_lean(self, images, keypoints, mean_labels):
        with frozen(self.classifier):
            for _ in range(KEYPOINT_STEPS):
                variable = keypoints.clone().requires_grad_()
                loss = self.task_losses(images, variable, mean_labels).mean()
                (gradient,) = torch.autograd.grad(loss, variable)
                # Rounds as SGD does: `keypoints - rate * gradient` would not.
                keypoints = keypoints.sub(gradient, alpha=KEYPOINT_LEARNING_RATE)
        return keypoints

    def train_task(self, images, keypoints, mean_labels):
        self.task_optimiser.zero_grad()
        losses = self.task_losses(images, keypoints, mean_labels)
        losses.mean().backward()
        self.task_optimiser.step()
        return losses.detach()

    def train_detector(self, heatmap, keypoints, losses):
        target = splat(keypoints, *heatmap.shape[2:])
        weights = torch.exp(-EASY_IMAGE_WEIGHT * losses)
        loss = (weights * heatmap_losses(heatmap, target)).mean()
        self.detector_optimiser.zero_grad()
        loss.backward()
        self.detector_optimiser.step()
        return loss.detach()
