"""Finding the K best keypoints in a heatmap."""

import torch
import torch.nn.functional as F

import levels as scale_levels
import pseudo
import save


def extract(heatmaps, levels, nms_px, count):
    width = heatmaps.shape[3]
    score = heatmaps.sum(dim=1)
    highest = F.max_pool2d(score, nms_px, stride=1, padding=nms_px // 2)
    survivors = torch.where(score >= highest, score, torch.zeros_like(score)).flatten(1)
    assert ((survivors > 0).sum(dim=1) > count).all()
    ranked, places = survivors.sort(dim=1, descending=True)
    # No order may hang on rounding: neither between neighbours nor among the best.
    assert not ((score < highest) & (highest - score < 1e-5)).any()
    assert (ranked[:, :count] - ranked[:, 1 : count + 1] > 1e-5).all()
    places = places[:, :count]
    scale = (heatmaps * levels[:, None, None]).sum(dim=1) / score
    x, y = places % width + 0.5, places // width + 0.5
    keypoints = torch.stack([x, y, scale.flatten(1).gather(1, places)], dim=-1)
    return {"keypoints": keypoints, "scores": ranked[:, :count]}


def make(directory):
    cases = {"extract_multi": (scale_levels.ascending(), 5), "extract_single": (pseudo.rounded([1.0]), 3)}
    for name, (levels, nms_px) in cases.items():
        heatmaps = pseudo.tensor(f"{name}/heatmaps", (2, len(levels), 16, 20), scale=0.49, shift=0.5)
        case = {"nms_px": nms_px, "count": 6}
        tensors = {"heatmaps": heatmaps, "levels": levels, **extract(heatmaps, levels, **case)}
        save.write(directory, name, "extract.py", {**case, "levels": levels.tolist()}, tensors)
