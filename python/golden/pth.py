"""Files of torch.save, in today's form and in that before PyTorch 1.6: `python pth.py DIRECTORY`."""

import collections
import sys

import torch


def make(directory):
    row = torch.arange(6.0)
    state = collections.OrderedDict(
        [
            ("conv1.weight", torch.arange(12.0).reshape(2, 3, 2, 1) / 8),
            ("bn1.num_batches_tracked", torch.tensor(3)),
            ("bn1.running_var", torch.tensor([1.5, 2.5])),
            ("half", torch.tensor([0.5, -2.0]).half()),
            ("view", row[2:5]),
            ("transposed", torch.arange(6.0).reshape(2, 3).t()),
        ]
    )
    torch.save(state, f"{directory}/zip.pth")
    torch.save(state, f"{directory}/legacy.pth", _use_new_zipfile_serialization=False)


if __name__ == "__main__":
    make(sys.argv[1])
