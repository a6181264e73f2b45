"""Images that our own encoders do not write, for the tests of image decoding.

    pip install pillow==13.0.0
    python python/images/make.py crates/mist-data/tests/fixtures

cmyk.jpg: 16 x 8 px in CMYK, the left half cyan and the right half black. animated.webp: 12 x 10 px, three frames, of gray
values 255, 128 and 0. progressive.jpg: 24 x 16 px, dark left half.
"""

import argparse
import pathlib

from PIL import Image


def halves(mode, size, left, right):
    image = Image.new(mode, size, right)
    image.paste(left, (0, 0, size[0] // 2, size[1]))
    return image


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=pathlib.Path)
    out = parser.parse_args().directory
    halves("CMYK", (16, 8), (255, 0, 0, 0), (0, 0, 0, 255)).save(out / "cmyk.jpg", quality=95)
    halves("RGB", (24, 16), (0, 0, 0), (255, 255, 255)).save(out / "progressive.jpg", progressive=True, quality=95)
    frames = [Image.new("RGB", (12, 10), (gray, gray, gray)) for gray in (255, 128, 0)]
    frames[0].save(out / "animated.webp", save_all=True, append_images=frames[1:], lossless=True, duration=100)
