"""Renders the pictures of the demo's goods from the scenes in `goods.py`:

    pip install --target FOLDER bpy==5.0.0 pillow numpy        (CPython 3.11; 400 MB)
    PYTHONPATH=FOLDER python3 scripts/pictures/render.py       all of them, about twenty minutes of one core
    … render.py --draft FOLDER [NAME…]                         some at 400 pixels as PNG, seconds each

Without `--draft` it writes each picture in the widths that a browser chooses from (`static/goods/NAME-WIDTH.webp`). The
program carries these files, so neither a build nor a test renders anything.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import bpy
from mathutils import Vector
from PIL import Image

import goods
import studio

STATIC = Path(__file__).parents[2] / "static" / "goods"
# As `COPY_WIDTHS` in `src/domain/goods.rs`, and the widest copy.
WIDTHS = {320: 84, 480: 80, 640: 80, 1200: 90}


def photograph(scene, file, size, samples, threads):
    studio.reset()
    view = scene()
    studio.backdrop(view["paper"])
    studio.lights(view.get("strength", 1.0))
    studio.camera(view["direction"], view["elevation"], view.get("fill", 0.76), view.get("lift", 0.0))
    if closeup := view.get("closeup"):
        eye = bpy.context.scene.camera
        back = eye.rotation_euler.to_matrix() @ Vector((0, 0, 1))
        eye.location, eye.data.dof.focus_distance = Vector(closeup[0]) + back * closeup[1], closeup[1] - 0.2
    studio.shoot(file, size, samples, threads, view.get("exposure", 0.0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--size", type=int)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    for scene in goods.ALL:
        name = scene.__name__.replace("_", "-")
        if options.names and name not in options.names:
            continue
        if options.draft:
            photograph(scene, options.draft / f"{name}.png", options.size or 400, options.samples or 24, options.threads)
            continue
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder) / "whole.png"
            photograph(scene, whole, options.size or max(WIDTHS), options.samples or 24, options.threads)
            picture = Image.open(whole).convert("RGB")
            for width, quality in WIDTHS.items():
                copy = picture.resize((width, width), Image.LANCZOS)
                copy.save(STATIC / f"{name}-{width}.webp", quality=quality, method=6)
            if not name.endswith(("-back", "-detail")):
                # Covers, for previews of links, which know no WebP.
                cover = picture.resize((800, 800), Image.LANCZOS)
                cover.save(STATIC / f"{name}-800.jpg", quality=80, optimize=True, progressive=True)


if __name__ == "__main__":
    main()
