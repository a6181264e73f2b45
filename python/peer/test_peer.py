"""Checks of the peer program, at small sizes: `python python/peer/test_peer.py`."""

import io
import json
import math

import torch

import baselines
import networks
import operators
import serve
import train_curve
import workloads
from settings import Setting
from step import Trainer

EAGER = Setting.named("eager-f32")
TINY = workloads.Sizes(batch=2, side_px=40, instances=3, detect_images=4, detect_batches=(2, 4))


# Of the networks of `mnist-hard-xie20`, `mnist-hard-grid` and `mnist-hard-channelwise`, as their weight files hold them.
COUNTS = [718_090, 52_041, 28_441, 178_947]


def flat(network):
    return torch.cat([parameter.detach().flatten() for parameter in network.parameters()])


def trained(setting, steps):
    """Both networks' weights and the task losses after steps on one batch."""
    torch.manual_seed(1)
    detector, classifier = networks.detector(), networks.classifier()
    trainer = Trainer(detector, classifier, setting, TINY.instances)
    images, mean_labels = TINY.images(TINY.batch), TINY.mean_labels()
    losses = [trainer.step(images, mean_labels) for _ in range(steps)]
    return torch.cat([flat(detector), flat(classifier)]), losses


def test_parameter_counts():
    assert networks.count(networks.detector()) == 74_407
    assert networks.count(networks.classifier()) == 2_096_698


def test_baselines_are_the_recipes():
    built = [baselines.classifier(), baselines.autoencoder(), baselines.detector(9), baselines.regions()]
    assert [networks.count(network) for network in built] == COUNTS


def test_a_pasted_cell_of_the_grid_is_the_image():
    images = torch.rand(2, 1, 36, 36)
    keypoints = baselines.places(36, 3).expand(2, -1, -1)
    cells = operators.sample(images, keypoints, 12.0, patch_px=12)
    assert torch.allclose(baselines.paste(cells, keypoints, 12.0, 36), images, atol=1e-5)


def test_steps_of_baselines_lower_their_losses():
    for name in ["grid_step", "channelwise_step", "xie20_step"]:
        step = workloads.build(name, "eager-f32", workloads.Sizes(batch=4, side_px=48))
        losses = [step() for _ in range(10)]
        assert losses[-1] < losses[0], name


def test_shapes_and_flat_weights():
    images = torch.rand(2, 3, 40, 36)
    assert networks.detector()(images).shape == (2, 1, 40, 36)
    first, second = networks.classifier(), networks.classifier()
    networks.load_flat(second, flat(first))
    patches = torch.rand(2, 3, 32, 32)
    assert first(patches).shape == (2, 10)
    assert torch.equal(first(patches), second(patches))


def test_local_softmax_is_the_plain_one():
    logits = torch.randn(2, 1, 20, 18)
    e = torch.exp(10 * (logits - logits.amax(dim=(2, 3), keepdim=True)))
    heatmap = operators.local_softmax(logits)
    for y, x in [(7, 7), (12, 10), (0, 0), (19, 17)]:
        row, column = min(max(y, 7), 12), min(max(x, 7), 10)
        total = e[:, 0, row - 7 : row + 8, column - 7 : column + 8].sum(dim=(1, 2))
        assert torch.allclose(heatmap[:, 0, y, x], e[:, 0, y, x] / (total + 1e-6), rtol=1e-4)


def test_extract_keeps_ties_and_drops_neighbours():
    heatmap = torch.zeros(1, 1, 20, 20)
    heatmap[0, 0, 4, 5] = heatmap[0, 0, 4, 6] = 0.9
    heatmap[0, 0, 5, 5] = 0.8
    heatmap[0, 0, 15, 2] = 0.7
    found = operators.extract(heatmap, 3)[0].tolist()
    assert sorted(found[:2]) == [[5.5, 4.5], [6.5, 4.5]] and found[2] == [2.5, 15.5]


def test_patches_are_magnified_boxes():
    images = torch.arange(40.0).expand(2, 3, 40, 40)
    keypoints = torch.tensor([[[20.0, 20.0], [15.0, 22.0]]]).expand(2, -1, -1)
    patches = operators.sample(images, keypoints).reshape(2, 2, 3, 32, 32)
    expected = 20 - 0.5 + 20 * ((torch.arange(32) + 0.5) / 32 - 0.5)
    assert torch.allclose(patches[0, 0, 2, 5], expected, atol=1e-4)
    assert torch.allclose(patches[1, 1, 0, 31], expected - 5, atol=1e-4)


def test_target_holds_ones_where_keypoints_are():
    target = operators.splat(torch.tensor([[[3.9, 1.2], [-2.0, 99.0]]]), 6, 8)
    assert target.nonzero().tolist() == [[0, 0, 1, 3], [0, 0, 5, 0]]
    assert target.sum() == 2


def test_every_workload_runs():
    for name in workloads.WORKLOADS:
        workloads.build(name, "eager-f32", TINY)()


def test_every_eager_setting_steps():
    for name in workloads.setting_names("train_step"):
        if not name.startswith(("compile", "mixed")):
            assert all(map(math.isfinite, workloads.build("train_step", name, TINY)()))


def test_training_lowers_the_task_loss():
    _, losses = trained(EAGER, 20)
    assert all(math.isfinite(value) for pair in losses for value in pair)
    assert losses[-1][0] < losses[0][0]


def test_lean_gives_the_same_weights():
    full, _ = trained(EAGER, 3)
    lean, _ = trained(Setting.named("eager-f32-lean"), 3)
    assert torch.allclose(full, lean, rtol=0, atol=1e-6)


def test_curve_follows_the_batches():
    torch.manual_seed(2)
    data = {"images": torch.randint(256, (2, 2, 3, 40, 40), dtype=torch.uint8), "counts": torch.ones(2, 2, 10)}
    weights = {"detector": flat(networks.detector()), "classifier": flat(networks.classifier())}
    losses = train_curve.curve(data, weights, 3, EAGER, 3)
    assert len(losses["task_loss"]) == len(losses["heatmap_loss"]) == 3


def test_server_answers_line_by_line():
    requests = ['{"op": "hello"}', "nonsense", '{"op": "run"}', '{"op": "memory"}', '{"op": "quit"}', '{"op": "run"}']
    answers = io.StringIO()
    serve.serve(serve.Server(torch.get_num_threads()), requests, answers)
    hello, *errors, memory = map(json.loads, answers.getvalue().splitlines())
    assert hello["workloads"] == list(workloads.WORKLOADS)
    assert len(errors) == 2 and all(error.keys() == {"error"} for error in errors)
    assert memory["peak_mb"] >= memory["base_mb"] > 0


if __name__ == "__main__":
    tests = [value for name, value in sorted(globals().items()) if name.startswith("test_")]
    for test in tests:
        test()
        print(f"ok {test.__name__}")
    print(f"{len(tests)} passed, 0 failed")
