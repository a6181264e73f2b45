"""Writes all golden values: python python/golden/make.py [--output DIRECTORY]"""

import argparse
import pathlib

import torch

import backbones
import esl16
import extract
import local_softmax
import losses
import multiscale
import networks
import paster
import resize
import sampler
import scale_fusion
import soft_top_k
import splat
import zha18

FAMILIES = [
    local_softmax, resize, scale_fusion, sampler, paster, losses, splat, soft_top_k, extract, networks,
    multiscale, backbones, esl16, zha18
]
DEFAULT_OUTPUT = pathlib.Path(__file__).resolve().parents[2] / "crates/mist/tests/golden"


def main():
    parser = argparse.ArgumentParser(description="Writes the golden values of all families.")
    parser.add_argument("--output", type=pathlib.Path, default=DEFAULT_OUTPUT, help="directory to write to")
    directory = parser.parse_args().output
    directory.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)  # one order of summation, so that the bytes repeat
    torch.use_deterministic_algorithms(True)
    for family in FAMILIES:
        family.make(directory)


if __name__ == "__main__":
    main()
