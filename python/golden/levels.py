"""The scale levels of the multi-scale detector."""

import math

import pseudo


def ascending():
    """Five factors from 1/sqrt(2) to sqrt(2), evenly spaced in their logarithm."""
    half_octave = math.log(math.sqrt(2.0))
    return pseudo.rounded([math.exp(half_octave * (step - 2) / 2) for step in range(5)])
