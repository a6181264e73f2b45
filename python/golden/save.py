"""Runs a case and writes it as one safetensors file."""

import json

import torch
from safetensors.numpy import save as serialise

import pseudo


def write(directory, name, script, case, tensors):
    """Writes `tensors` as float32, with the same bytes every time."""
    arrays = {key: value.detach().float().contiguous().numpy() for key, value in tensors.items()}
    assert all((abs(array) < float("inf")).all() for array in arrays.values()), name
    metadata = {
        "script": f"python/golden/{script}",
        "torch": torch.__version__.split("+")[0],
        "case": json.dumps(case, sort_keys=True),
    }
    blob = serialise(arrays, metadata=metadata)
    # The library writes the metadata in a random order, so the header is written again, sorted.
    data_start = 8 + int.from_bytes(blob[:8], "little")
    header = json.dumps(json.loads(blob[8:data_start]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    (directory / f"{name}.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + blob[data_start:])


def leaf(value):
    """A copy of `value` that collects a gradient."""
    return value.detach().clone().requires_grad_()


def backward(name, output):
    """Back-propagates `sum(output * cotangent)` and returns the cotangent."""
    cotangent = pseudo.tensor(f"{name}/cotangent", output.shape)
    (output * cotangent).sum().backward()
    return cotangent


def differentiable(directory, name, script, case, function, inputs, constants=None):
    """Writes `function(**inputs, **constants)` and the gradient of every one of `inputs`."""
    constants = constants or {}
    leaves = {key: leaf(value) for key, value in inputs.items()}
    output = function(**leaves, **constants)
    cotangent = backward(name, output)
    gradients = {f"grad_{key}": value.grad for key, value in leaves.items()}
    tensors = {**inputs, **constants, "output": output, "cotangent": cotangent, **gradients}
    write(directory, name, script, case, tensors)
