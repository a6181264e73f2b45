"""The ways to run a network in PyTorch that the comparison tries."""

from dataclasses import dataclass, replace

import torch

ENGINES = ("eager", "channels_last", "compile")
PRECISIONS = ("f32", "bf16")
NAMES = [f"{engine}-{precision}" for precision in PRECISIONS for engine in ENGINES]
# For work with both networks: the detector compiled, the classifier, which compiling may slow down, not.
MIXED_NAMES = [f"mixed-{precision}" for precision in PRECISIONS]
LEAN_NAMES = [f"{name}-lean" for name in NAMES + MIXED_NAMES]


@dataclass(frozen=True)
class Setting:
    """One of the names above, taken apart."""

    engine: str
    precision: str
    lean: bool

    @classmethod
    def named(cls, name):
        if name not in NAMES + MIXED_NAMES + LEAN_NAMES:
            raise ValueError(f"unknown setting {name!r}")
        engine, precision, *lean = name.split("-")
        return cls(engine, precision, bool(lean))

    def of_detector(self):
        return replace(self, engine="compile") if self.engine == "mixed" else self

    def of_classifier(self):
        return replace(self, engine="channels_last") if self.engine == "mixed" else self

    def arrange(self, tensor):
        """The tensor in the memory layout that the networks read."""
        if self.engine == "channels_last":
            return tensor.contiguous(memory_format=torch.channels_last)
        return tensor.contiguous()

    def compiled(self, function):
        return torch.compile(function, dynamic=False) if self.engine == "compile" else function

    def executor(self, network):
        """A function from a batch to the network's float32 output."""
        if self.engine == "channels_last":
            network.to(memory_format=torch.channels_last)
        forward = self.compiled(network)

        def run(batch):
            with torch.autocast("cpu", torch.bfloat16, enabled=self.precision == "bf16"):
                return forward(self.arrange(batch)).float()

        return run
