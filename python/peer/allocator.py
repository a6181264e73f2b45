"""Keeping freed memory in the process: by default glibc returns every large buffer to the system, and the
page faults of getting it back cost up to a third of a step."""

import os
import sys

# One arena that never shrinks and serves the largest buffers too, in huge pages where they are on request.
TUNABLES = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TOP_PAD_": str(64 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(16 << 30),
    "MALLOC_MMAP_THRESHOLD_": str(16 << 30),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}


def tune():
    """Starts this program over, once, with the tunables set; glibc reads them at start only.

    A preloaded allocator and variables that are set already stay as they are.
    """
    missing = TUNABLES.keys() - os.environ.keys()
    if missing and sys.platform == "linux" and "LD_PRELOAD" not in os.environ:
        os.environ.update({name: TUNABLES[name] for name in missing})
        os.execv(sys.executable, [sys.executable, *sys.argv])
