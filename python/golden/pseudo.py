"""Deterministic numbers that any language can compute again."""

import zlib

import numpy as np
import torch

# Everything is computed in this type; what goes in was rounded to float32 before.
COMPUTE = torch.float64


def unit(salt, count):
    """`count` numbers in [-1, 1): splitmix64 of `index + (salt << 32)`, its top 24 bits; exact in float32."""
    z = np.arange(count, dtype=np.uint64) + np.uint64(salt << 32)
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return 2.0 * ((z >> np.uint64(40)).astype(np.float64) / 2.0**24) - 1.0


def rounded(values):
    """`values` rounded to float32, then promoted to the type of the computation."""
    return torch.tensor(np.asarray(values, dtype=np.float64).astype(np.float32)).to(COMPUTE)


def tensor(label, shape, scale=1.0, shift=0.0):
    """`shift + scale * unit` in `shape`, with a salt that follows from `label`."""
    values = unit(zlib.crc32(label.encode()), int(np.prod(shape)))
    return rounded(shift + scale * values).reshape(shape)
