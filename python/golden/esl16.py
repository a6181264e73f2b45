"""The parts of Esl16: a long short-term memory's cell, the divergences of its bound and softplus."""

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.distributions.relaxed_bernoulli import LogitRelaxedBernoulli

import pseudo
import save

SCRIPT = "esl16.py"


def lstm_cell(gates, cell):
    units = cell.shape[1]
    module = nn.LSTMCell(4 * units, units).to(pseudo.COMPUTE)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
        module.weight_ih.copy_(torch.eye(4 * units))
    hidden, cell = module(gates, (torch.zeros_like(cell), cell))
    return torch.cat([hidden, cell], dim=1)


def gaussian_kl(mean, log_variance, prior_mean, prior_variance):
    posterior = Normal(mean, (0.5 * log_variance).exp())
    prior = Normal(torch.full_like(mean, prior_mean), prior_variance**0.5)
    return kl_divergence(posterior, prior).sum(dim=1, keepdim=True)


def binary_concrete_kl(logits, log_odds, prior_log_odds, temperature):
    temperature = torch.tensor(temperature, dtype=pseudo.COMPUTE)
    posterior = LogitRelaxedBernoulli(temperature, logits=log_odds)
    prior = LogitRelaxedBernoulli(temperature, logits=torch.full_like(log_odds, prior_log_odds))
    return posterior.log_prob(logits) - prior.log_prob(logits)


def make(directory):
    name = "esl16_lstm"
    inputs = {
        "gates": pseudo.tensor(f"{name}/gates", (3, 20), scale=2.0),
        "cell": pseudo.tensor(f"{name}/cell", (3, 5), scale=1.5)
    }
    save.differentiable(directory, name, SCRIPT, {}, lstm_cell, inputs)

    name = "esl16_gaussian_kl"
    case = {"prior_mean": -1.0, "prior_variance": 0.05}
    inputs = {
        "mean": pseudo.tensor(f"{name}/mean", (4, 3), scale=2.0),
        "log_variance": pseudo.tensor(f"{name}/log_variance", (4, 3), scale=3.0, shift=-1.0)
    }
    run = lambda mean, log_variance: gaussian_kl(mean, log_variance, **case)
    save.differentiable(directory, name, SCRIPT, case, run, inputs)

    for temperature in (1.0, 0.5):
        name = f"esl16_concrete_kl_{temperature}"
        case = {"prior_log_odds": -2.0, "temperature": temperature}
        inputs = {
            "logits": pseudo.tensor(f"{name}/logits", (6, 1), scale=4.0),
            "log_odds": pseudo.tensor(f"{name}/log_odds", (6, 1), scale=3.0)
        }
        run = lambda logits, log_odds: binary_concrete_kl(logits, log_odds, **case)
        save.differentiable(directory, name, SCRIPT, case, run, inputs)
