"""Differentiable top-k: masks of scores, and their gradients by automatic differentiation where there is one."""

import torch

import pseudo
import save

SCRIPT = "soft_top_k.py"
SHAPE = (3, 12)


def costs(scores):
    """C_ij / max C with the anchors 0 and 1, the largest cost of each row of scores taken as a constant: [rows, n, 2]."""
    cost = (scores[:, :, None] - torch.tensor([0.0, 1.0], dtype=scores.dtype)) ** 2
    return cost / cost.amax(dim=(1, 2), keepdim=True).detach()


def sinkhorn(scores, k, epsilon, iterations):
    """n Gamma[:, 1]: iterations in the log domain, unrolled, so that autograd differentiates each of them."""
    rows, n = scores.shape
    kernel = -costs(scores) / epsilon
    mu = -torch.log(torch.tensor(float(n), dtype=scores.dtype))
    nu = torch.log(torch.tensor([(n - k) / n, k / n], dtype=scores.dtype))
    anchors = torch.zeros(rows, 2, dtype=scores.dtype)
    for _ in range(iterations):
        of_scores = mu - torch.logsumexp(kernel + anchors[:, None, :], dim=2)
        anchors = nu - torch.logsumexp(kernel + of_scores[:, :, None], dim=1)
    return n * torch.exp(of_scores + kernel[:, :, 1] + anchors[:, 1:])


def laplace(z):
    return torch.where(z < 0, 0.5 * torch.exp(z.clamp(max=0)), 1 - 0.5 * torch.exp(-z.clamp(min=0)))


def lap_sum(scores, k, alpha):
    """F((x - b) / alpha) with b by bisection; one step of Newton with gradients gives b its own."""
    with torch.no_grad():
        low = scores.min(dim=1, keepdim=True).values - 60 * alpha
        high = scores.max(dim=1, keepdim=True).values + 60 * alpha
        for _ in range(200):
            middle = (low + high) / 2
            more = laplace((scores - middle) / alpha).sum(dim=1, keepdim=True) > k
            low, high = torch.where(more, middle, low), torch.where(more, high, middle)
        b = (low + high) / 2
        slope = (0.5 * torch.exp(-((scores - b) / alpha).abs()) / alpha).sum(dim=1, keepdim=True)
    b = b + (laplace((scores - b) / alpha).sum(dim=1, keepdim=True) - k) / slope
    return laplace((scores - b) / alpha)


def perturbed(scores, noise, k, sigma):
    """The mean selection of `scores + sigma noise`, and its gradient E[selection noise^T] / sigma, which no autograd knows."""
    with torch.no_grad():
        chosen = (scores[:, None, :] + sigma * noise).topk(k, dim=2).indices
        selection = torch.zeros_like(noise).scatter_(2, chosen, 1.0)
        jacobian = torch.einsum("rsi,rsj->rij", selection, noise) / (sigma * noise.shape[1])
        masks = selection.mean(dim=1)
    moved = scores - scores.detach()
    return masks + torch.einsum("rij,rj->ri", jacobian, moved)


def make(directory):
    # With a small epsilon, unrolled iterations have the gradient of their limit only where they reach it: close scores.
    sinkhorns = [("soft", 4, 0.1, 200, 1.0, 0.2), ("small", 3, 0.005, 2000, 0.005, 0.5)]
    for name, k, epsilon, iterations, scale, shift in sinkhorns:
        name = f"soft_top_k_sinkhorn_{name}"
        inputs = {"scores": pseudo.tensor(f"{name}/scores", SHAPE, scale=scale, shift=shift)}
        case = {"k": k, "epsilon": epsilon, "iterations": iterations}
        run = lambda scores: sinkhorn(scores, k, epsilon, iterations)
        save.differentiable(directory, name, SCRIPT, case, run, inputs)

    for name, k, alpha in [("soft", 4, 0.3), ("sharp", 3, 0.02)]:
        name = f"soft_top_k_lap_sum_{name}"
        inputs = {"scores": pseudo.tensor(f"{name}/scores", SHAPE)}
        run = lambda scores: lap_sum(scores, k, alpha)
        save.differentiable(directory, name, SCRIPT, {"k": k, "epsilon": alpha}, run, inputs)

    name, k, sigma = "soft_top_k_perturbed", 4, 0.25
    inputs = {"scores": pseudo.tensor(f"{name}/scores", SHAPE)}
    constants = {"noise": pseudo.tensor(f"{name}/noise", (SHAPE[0], 50, SHAPE[1]), scale=1.7)}
    run = lambda scores, noise: perturbed(scores, noise, k, sigma)
    save.differentiable(directory, name, SCRIPT, {"k": k, "epsilon": sigma}, run, inputs, constants)
