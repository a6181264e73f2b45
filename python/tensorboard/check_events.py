"""What TensorBoard finds in a directory of event files, as JSON: every scalar and every picture.

    python python/tensorboard/check_events.py runs/example
"""

import argparse
import json
import math

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

# Zero keeps all events instead of a sample of them.
KEEP = {"scalars": 0, "images": 0}


def read(directory):
    """Scalars as {tag: [[step, value], ...]}, pictures as {tag: [[step, width_px, height_px], ...]}.

    JSON has no word for values that are not finite; they become null.
    """
    events = EventAccumulator(directory, size_guidance=KEEP).Reload()
    tags = events.Tags()
    return {
        "scalars": {tag: [[e.step, finite(e.value)] for e in events.Scalars(tag)] for tag in tags["scalars"]},
        "images": {tag: [[e.step, e.width, e.height] for e in events.Images(tag)] for tag in tags["images"]},
    }


def finite(value):
    return value if math.isfinite(value) else None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory")
    print(json.dumps(read(parser.parse_args().directory), indent=1, sort_keys=True))
