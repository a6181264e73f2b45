"""Times PyTorch for a program on the other side of a pipe: one JSON object per line in, one per line out."""

import argparse
import gc
import json
import os
import resource
import sys

import allocator

if __name__ == "__main__" and "--no-tune" not in sys.argv:
    allocator.tune()  # Before PyTorch, which takes seconds to load, is loaded in vain.

import torch

import settings
import workloads
from training import Training

WARM_UP_RUNS = 3


class Server:
    """The workload that is prepared, if one is."""

    def __init__(self, threads):
        torch.set_num_threads(threads)
        self.run = None
        self.training = None
        self.base_mb = peak_mb()

    def answer(self, request):
        operations = {
            "hello": self.hello,
            "prepare": self.prepare,
            "run": self.time,
            "memory": self.memory,
            "begin_training": self.begin_training,
            "train": self.train,
            "detect": self.detect,
        }
        operation = request.pop("op", None)
        if operation not in operations:
            raise ValueError(f"unknown op {operation!r}")
        return operations[operation](**request)

    def hello(self):
        return {
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
            "settings": settings.NAMES,
            "workloads": list(workloads.WORKLOADS),
            "workload_settings": {name: workloads.setting_names(name) for name in workloads.WORKLOADS},
        }

    def prepare(self, workload, setting):
        self.run = None
        torch._dynamo.reset()
        gc.collect()
        run = workloads.build(workload, setting)
        for _ in range(WARM_UP_RUNS):
            run()
        self.run = run
        return {"ok": True}

    def time(self):
        if self.run is None:
            raise ValueError("nothing is prepared")
        return {"ms": workloads.timed(self.run) * 1e3}

    def begin_training(self, setting, seed, instances):
        self.training = Training(setting, seed, instances)
        return {"ok": True}

    def train(self, images, counts):
        return {"task_loss": self.training.step(images, counts)}

    def detect(self, images):
        return {"found": self.training.detect(images)}

    def memory(self):
        """The peak since the start, and the part of it that PyTorch takes before any work."""
        return {"peak_mb": peak_mb(), "base_mb": self.base_mb}


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def serve(server, lines, answers):
    for line in lines:
        try:
            request = json.loads(line)
            if request.get("op") == "quit":
                return
            answer = server.answer(request)
        except Exception as error:  # Whatever went wrong, the other side learns of it and goes on.
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def own_stdout():
    """The standard output for answers alone: whatever else is printed, by libraries too, goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--no-tune", action="store_true", help="leave the memory allocator as it is")
    serve(Server(parser.parse_args().threads), sys.stdin, own_stdout())
