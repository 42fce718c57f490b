"""The demo's goods, one function each. A function builds its goods and returns direction and elevation of the camera, the
colour of the backdrop, and what else `photograph` in `render.py` takes."""

import math
import random

import numpy as np
from mathutils import Vector
from PIL import Image, ImageDraw, ImageFilter

from studio import (
    TAU, box, curve, disc, extrude, font, glass, glow, group, lathe, lettering, mat, metal, outline, printed, slab, sweep,
    thing, tube,
)  # fmt: skip

BLACK = "#17181b"


def aurora():
    """The phone's lock screen."""
    w, h = 496, 1080
    y, x = np.mgrid[0:h, 0:w][0] / h, np.mgrid[0:h, 0:w][1] / w
    sky = np.stack([0.03 + 0.10 * y, 0.04 + 0.07 * y, 0.14 + 0.20 * y], -1)
    for base, reach, tint, phase, sway in [
        (0.62, 0.34, (0.10, 0.95, 0.62), 0.3, 0.09), (0.48, 0.30, (0.20, 0.62, 1.0), 1.9, 0.12), (0.36, 0.26, (0.75, 0.25, 0.95), 3.4, 0.10),
    ]:  # fmt: skip
        edge = base + sway * np.sin(x * 5 + phase) + 0.04 * np.sin(x * 13 + 2 * phase)
        rays = 0.65 + 0.35 * np.sin(x * 60 + 9 * np.sin(x * 7 + phase)) * np.sin(x * 23 + phase)
        curtain = np.where(y < edge, np.exp(-(edge - y) / reach * 2.2), np.exp(-(y - edge) * 26)) * rays
        sky += curtain[..., None] * np.array(tint) * 0.85
    ridge = 0.86 + 0.05 * np.sin(x * 6 + 1) + 0.025 * np.sin(x * 17) + 0.012 * np.sin(x * 41)
    sky = np.where((y > ridge)[..., None], np.array([0.02, 0.03, 0.07]) + 0.05 * (y - ridge)[..., None], sky)
    image = Image.fromarray((np.clip(sky, 0, 1) * 255).astype("uint8"))
    draw, dice = ImageDraw.Draw(image), random.Random(4)
    for _ in range(160):
        a, b = dice.random() * w, dice.random() * h * 0.7
        draw.ellipse((a, b, a + dice.choice((1, 1, 2)), b + 1), fill=(255, 255, 255))
    draw.text((w / 2, 190), "20:00", font=font(132), fill="white", anchor="mm")
    draw.text((w / 2, 92), "11月29日 星期日", font=font(34, "Noto Sans CJK Regular.woff2"), fill=(235, 240, 255), anchor="mm")
    draw.rounded_rectangle((w / 2 - 80, h - 22, w / 2 + 80, h - 16), 3, fill="white")
    return image


def one_phone(body, at, turn):
    z = 0.042
    parts = [
        slab(0.74, 1.56, 0.084, 0.115, metal(body, 0.28), 0.03),
        slab(0.715, 1.535, 0.008, 0.104, mat("#050506", 0.05, coat=1, wear=0), 0.003, (0, 0, z - 0.002)),
        slab(0.69, 1.51, 0.004, 0.09, printed(aurora(), 1.15), 0, (0, 0, z + 0.001)),
        disc(0.021, 0.003, mat("#000000", 0.05), (0, 0.7, z + 0.002), 0),
        slab(0.716, 1.536, 0.006, 0.104, mat(body, 0.42, bump="fine", scale=300, depth=0.02), 0.003, (0, 0, -z)),
        slab(0.34, 0.34, 0.03, 0.085, mat(body, 0.12, coat=1), 0.012, (0.155, 0.56, -z - 0.012)),
        box((0.02, 0.15, 0.026), metal(body, 0.25), (0.372, 0.3, 0), 0.008),
        box((0.02, 0.12, 0.026), metal(body, 0.25), (-0.372, 0.42, 0), 0.008),
        box((0.02, 0.12, 0.026), metal(body, 0.25), (-0.372, 0.27, 0), 0.008),
    ]
    for x, y in [(0.235, 0.64), (0.075, 0.64), (0.235, 0.48)]:
        place = (x, y, -z - 0.024)
        parts.append(lathe([(0.046, 0), (0.062, 0, 0.006), (0.062, 0.03, 0.008), (0.046, 0.03, 0.006), (0.046, 0)], metal("#d5d8de", 0.12), place, (180, 0, 0)))
        parts.append(disc(0.048, 0.018, mat("#03040a", 0.02, coat=1, wear=0), place, 0.004, (180, 0, 0)))
        parts.append(disc(0.018, 0.02, mat("#152a6b", 0.05, coat=1, wear=0), place, 0.004, (180, 0, 0)))
    parts.append(disc(0.024, 0.006, mat("#fff3d0", 0.3, coat=1), (0.075, 0.48, -z - 0.026), 0.002, (180, 0, 0)))
    parts.append(lettering("AURORA", 0.07, metal("#aab2c8", 0.2), (0, -0.1, -z - 0.003), (0, 180, 0)))
    return group(parts, at, turn, 1.7)


def phone():
    one_phone("#3a4a6b", (-0.42, -0.25, 1.33), (83, 0, -16))
    one_phone("#3a4a6b", (0.62, 0.45, 1.33), (96, 0, 158))
    return dict(direction=4, elevation=9, paper="#c9cfdd", fill=0.8)


def phone_back():
    one_phone("#3a4a6b", (0, 0, 0.075), (180, 0, 28))
    return dict(direction=-28, elevation=34, paper="#c9cfdd", fill=0.86)


def headphones():
    shell, leather = mat("#e9e2d6", 0.38, coat=0.3, bump="fine", scale=220, depth=0.03), mat("#b99b7c", 0.55, bump="leather", scale=60, depth=0.25)
    steel = metal("#cfc8bd", 0.2)
    for s in (-1, 1):
        group([
            lathe([(0, 0.33), (0.36, 0.31, 0.1), (0.57, 0.17, 0.14), (0.6, -0.04, 0.06), (0.5, -0.08)], shell),
            lathe([(0.3, 0.31), (0.34, 0.345, 0.012), (0.38, 0.31), (0.3, 0.3)], steel),
            disc(0.3, 0.33, mat("#ded5c6", 0.3, metal=0.4, bump="fine", scale=120, depth=0.03), edge=0.03),
            lathe([(0.27, -0.08, 0), (0.63, -0.07, 0.09), (0.64, -0.32, 0.13), (0.4, -0.36, 0.14), (0.27, -0.3, 0.1), (0.27, -0.08)], leather),
            disc(0.3, 0.05, mat("#3b3530", 0.9, bump="knit", scale=120, depth=0.4), (0, 0, -0.17)),
            box((0.05, 0.14, 0.03), steel, (0.42, 0.33, 0.08), 0.012, (0, 0, 40)),
        ], (s * 1.0, 0, 0.74), (0, s * 84, 0), (1.2, 1.0, 1.0))  # fmt: skip
        yoke = [(s * 1.16, -0.0, 0.74), (s * 1.25, 0, 1.05), (s * 1.22, 0, 1.42), (s * 1.12, 0, 1.72), (s * 1.0, 0, 1.98)]
        tube(yoke, 0.04, steel)
        disc(0.1, 0.13, steel, (s * 1.13, 0, 0.74), 0.03, (0, s * 90, 0))
        tube([(s * 1.16, 0, 1.63), (s * 1.08, 0, 1.82), (s * 0.98, 0, 2.01)], 0.075, shell)
    arc = [Vector((1.08 * math.cos(a), 0, 1.72 + 1.0 * math.sin(a))) for a in np.linspace(0.28, math.pi - 0.28, 60)]
    sweep(arc, 0.34, 0.09, shell, power=4, side=(0, 1, 0))
    inner = [Vector((1.0 * math.cos(a), 0, 1.70 + 0.95 * math.sin(a))) for a in np.linspace(0.5, math.pi - 0.5, 60)]
    sweep(inner, 0.36, 0.17, leather, power=2.6, side=(0, 1, 0), taper=lambda t: 1 - 0.35 * abs(2 * t - 1) ** 4)
    return dict(direction=-34, elevation=12, paper="#d9d3c8", fill=0.76)


def cup(at, size=1.0, colour="#f7f4ee", coffee=True, turn=0):
    glaze = mat(colour, 0.12, coat=0.6)
    parts = [
        lathe([(0, 0), (0.2, 0, 0.03), (0.3, 0.28, 0.1), (0.31, 0.42, 0.012), (0.285, 0.42, 0.012), (0.26, 0.2, 0.1), (0.17, 0.04, 0.04), (0, 0.04)], glaze),
        tube([(0.27, 0, 0.36), (0.4, 0, 0.36), (0.43, 0, 0.25), (0.36, 0, 0.15), (0.26, 0, 0.14)], 0.025, glaze),
    ]
    if coffee:
        parts.append(disc(0.285, 0.01, mat("#8a5528", 0.35, bump="fine", scale=30, depth=0.1), (0, 0, 0.35)))
    return group(parts, at, (0, 0, turn), size)


def gauge():
    image = Image.new("RGB", (400, 400), "#fbfaf6")
    draw = ImageDraw.Draw(image)
    for k in range(25):
        angle = math.radians(225 - k * 270 / 24)
        long = k % 4 == 0
        inner = 140 if long else 155
        draw.line([(200 + r * math.cos(angle), 200 - r * math.sin(angle)) for r in (inner, 172)], fill="#222", width=7 if long else 3)
        if long:
            draw.text((200 + 108 * math.cos(angle), 200 - 108 * math.sin(angle)), str(k // 2), font=font(40), fill="#222", anchor="mm")
    draw.arc((18, 18, 382, 382), -60, 0, fill="#d23a2e", width=14)
    draw.line([(175, 245), (262, 95)], fill="#d23a2e", width=9)
    draw.ellipse((184, 184, 216, 216), fill="#222")
    draw.text((200, 300), "bar", font=font(34), fill="#555", anchor="mm")
    return image


def espresso(colour="#d8553f", paper="#e3d6cc"):
    paint, steel = mat(colour, 0.28, coat=0.7, wear=0.08), metal("#d4d6d9", 0.2, bump="brushed", scale=160, depth=0.05)
    chrome, black = metal("#e4e6e9", 0.07), mat(BLACK, 0.45)
    box((1.6, 1.75, 0.26), paint, (0, 0, 0.17), 0.09)
    box((1.58, 0.8, 2.0), paint, (0, 0.475, 1.1), 0.1)
    box((1.62, 1.42, 0.62), paint, (0, 0.165, 1.9), 0.12)
    box((1.3, 0.03, 0.92), steel, (0, 0.07, 0.85), 0.01)
    for x in (-0.65, 0.65):
        for y in (-0.7, 0.7):
            disc(0.09, 0.06, black, (x, y, 0), 0.01)
    box((1.36, 0.95, 0.06), steel, (0, -0.37, 0.31), 0.02)
    for k in range(13):
        box((0.03, 0.74, 0.012), black, (-0.54 + k * 0.09, -0.37, 0.341), 0.004)
    disc(0.32, 0.2, chrome, (0, -0.2, 1.42), 0.03)
    disc(0.36, 0.07, chrome, (0, -0.2, 1.38), 0.02)
    disc(0.3, 0.2, chrome, (0, -0.2, 1.16), 0.04)
    for x in (-0.09, 0.09):
        tube([(0, -0.2, 1.18), (x, -0.2, 1.1), (x, -0.2, 1.0)], 0.045, chrome)
    tube([(0, -0.42, 1.25), (0, -0.75, 1.24)], 0.06, chrome)
    sweep(curve([(0, -0.72, 1.24), (0, -0.95, 1.23), (0, -1.3, 1.2), (0, -1.42, 1.19)]), 0.19, 0.17, mat("#5b3a24", 0.35, coat=0.5, bump="brushed", scale=20, depth=0.1), taper=lambda t: 0.72 + 0.34 * math.sin(math.pi * min(1, t * 1.05)) ** 0.8)  # fmt: skip
    front = -0.55
    lathe([(0, 0), (0.215, 0, 0.02), (0.215, 0.07, 0.02), (0.18, 0.07, 0.01), (0.178, 0.04), (0, 0.04)], chrome, (0, front, 1.9), (90, 0, 0))
    disc(0.18, 0.002, printed(gauge(), 0, 0.2), (0, front - 0.042, 1.9), 0, (90, 0, 0))
    for x in (-0.58, -0.36, 0.36, 0.58):
        disc(0.075, 0.05, chrome, (x, front, 1.9), 0.018, (90, 0, 0))
        disc(0.05, 0.055, mat("#f1eee7", 0.3), (x, front, 1.9), 0.01, (90, 0, 0))
    tube([(0.66, -0.3, 1.62), (0.68, -0.5, 1.5), (0.7, -0.62, 1.2), (0.72, -0.7, 0.62)], 0.032, chrome)
    tube([(0.69, -0.58, 1.3), (0.705, -0.645, 1.05)], 0.055, black)
    disc(0.15, 0.2, black, (0.81, 0.1, 1.62), 0.03, (0, 90, 0), ridges=20, depth=-0.06)
    rail = [Vector((x, y + 0.18, 2.32)) for x, y in outline(1.4, 1.2, 0.15, 6)]
    sweep(rail, 0.03, 0.03, chrome, closed=True)
    for x, y in [(-0.66, -0.38), (0.66, -0.38), (-0.66, 0.74), (0.66, 0.74)]:
        disc(0.014, 0.12, chrome, (x, y, 2.2), 0)
    cup((-0.4, 0.05, 2.21), 0.85, coffee=False, turn=-120)
    cup((0.32, 0.1, 2.21), 0.85, coffee=False, turn=-40)
    cup((0, -0.22, 0.345), 1.05, turn=-25)
    return dict(direction=-27, elevation=14, paper=paper, fill=0.8)


def espresso_green():
    return espresso("#2f5546", "#d4dad0")


def espresso_detail():
    espresso()
    return dict(direction=-20, elevation=12, paper="#e3d6cc", closeup=((0, -0.45, 0.98), 6.2))


def along(table, t):
    """A smooth value from a table of `(t, value)`."""
    ts, vs = zip(*table)
    return float(np.interp(t, np.linspace(0, 1, 200), np.convolve(np.pad(np.interp(np.linspace(0, 1, 200), ts, vs), 6, "edge"), np.ones(13) / 13, "valid")))


LENGTH = 3.0
WIDTH = [(0, 0.3), (0.1, 0.4), (0.35, 0.40), (0.5, 0.44), (0.72, 0.54), (0.88, 0.47), (1, 0.3)]
HEIGHT = [(0, 0.8), (0.06, 0.86), (0.2, 0.7), (0.36, 0.96), (0.5, 0.8), (0.65, 0.6), (0.8, 0.47), (0.93, 0.35), (1, 0.22)]
TOP = [(0, 0.44), (0.3, 0.38), (0.7, 0.28), (0.9, 0.3), (1, 0.36)]
BOTTOM = [(0, 0.09), (0.12, 0.01), (0.65, 0.0), (0.85, 0.05), (1, 0.2)]


def half_width(t):
    """The outline of the shoe from above, round at heel and toe."""
    ends = math.sqrt(max(0.0, 1 - (1 - min(t, 0.12) / 0.12) ** 2)) * math.sqrt(max(0.0, 1 - (max(t, 0.8) - 0.8) ** 2 / 0.04))
    return along(WIDTH, t) * ends


def height(t):
    """The upper above the sole, round at the toe."""
    return along(HEIGHT, t) * math.sqrt(max(0.0, 1 - ((max(t, 0.8) - 0.8) / 0.2) ** 2)) + 0.02


def one_sneaker(colours, at, turn):
    knit, panel, foam, rubber, lace = colours
    rows, ring = 420, 200
    w, h, top, low = ([f(t) for t in (k / rows for k in range(rows + 1))] for f in (half_width, height, lambda t: along(TOP, t), lambda t: along(BOTTOM, t)))
    power = 2.4

    def surface(t, x):
        k = min(rows, max(0, round(t * rows)))
        inside = max(0.0, 1 - (abs(x) / max(w[k], 1e-6)) ** power)
        return Vector((t * LENGTH, x, top[k] - 0.04 + h[k] * inside ** (1 / power)))

    points, faces, kinds = [], [], []
    for k in range(rows + 1):
        for j in range(ring + 1):
            c, s = math.cos(math.pi * j / ring), math.sin(math.pi * j / ring)
            points.append((k / rows * LENGTH, math.copysign(abs(c) ** (2 / power), c) * w[k], top[k] - 0.04 + h[k] * s ** (2 / power)))
    for k in range(rows):
        for j in range(ring):
            t, p = (k + 0.5) / rows, points[k * (ring + 1) + j]
            x, z = abs(p[1]), (p[2] - top[k]) / h[k]
            if ((t - 0.2) / 0.155) ** 2 + (x / 0.24) ** 2 < 1 and z > 0.5:
                continue
            faces.append((k * (ring + 1) + j, (k + 1) * (ring + 1) + j, (k + 1) * (ring + 1) + j + 1, k * (ring + 1) + j + 1))
            heel = t < 0.13 - 0.09 * z**2 and z < 0.72
            toe = t > 0.87 + 0.16 * z
            stay = 0.345 < t < 0.665 and 0.13 < x < 0.225 and z > 0.55
            kinds.append(1 if heel or toe or stay else 0)
    upper = thing("upper", points, faces, knit)
    upper.data.materials.append(panel)
    upper.data.polygons.foreach_set("material_index", kinds)
    upper.modifiers.new("thick", "SOLIDIFY").thickness = 0.035

    points, faces, kinds, section = [], [], [], 80
    for k in range(rows + 1):
        for j in range(section):
            c, s = math.cos(j * TAU / section), math.sin(j * TAU / section)
            z = (math.copysign(abs(s) ** 0.35, s) + 1) / 2
            groove = 1 - 0.035 * math.exp(-(((z - 0.62) / 0.07) ** 2)) + 0.05 * (1 - z)
            x = math.copysign(abs(c) ** 0.35, c) * (w[k] + 0.035 * min(1, w[k] * 5)) * groove
            points.append((k / rows * (LENGTH + 0.08) - 0.04, x, low[k] + z * (top[k] + 0.03 - low[k])))
    for k in range(rows):
        for j in range(section):
            n = (j + 1) % section
            faces.append((k * section + j, k * section + n, (k + 1) * section + n, (k + 1) * section + j))
            kinds.append(1 if points[k * section + j][2] < low[k] + 0.07 else 0)
    sole = thing("sole", points, faces, foam)
    sole.data.materials.append(rubber)
    sole.data.polygons.foreach_set("material_index", kinds)

    rim = [surface(0.2 + 0.155 * math.cos(a), 0.24 * math.sin(a)) for a in np.linspace(0, TAU, 90, endpoint=False)]
    parts = [upper, sole, sweep(rim, 0.1, 0.1, knit, closed=True)]
    for s in (-1, 1):
        for base in (0.34, 0.5):
            wave = []
            for t in np.linspace(0.3, 0.7, 40):
                k, z = round(t * rows), base + 0.17 * math.sin((t - 0.5) * 11)
                wave.append(Vector((t * LENGTH, s * (0.03 + w[k] * (1 - z**power) ** (1 / power)), top[k] - 0.04 + h[k] * z)))
            parts.append(sweep(wave, 0.075, 0.03, panel, power=4))
    tongue = [surface(0.6, 0), surface(0.5, 0) + Vector((0, 0, 0.02)), surface(0.42, 0) + Vector((0, 0, 0.03)), surface(0.36, 0) + Vector((-0.02, 0, 0.1)), surface(0.345, 0) + Vector((-0.1, 0, 0.26))]
    parts.append(sweep(curve(tongue), 0.34, 0.07, knit, power=3, side=(0, 1, 0)))
    for k in range(6):
        a, b = 0.385 + 0.048 * k, 0.385 + 0.048 * (k + (0.9 if k < 5 else 0))
        for s in (-1, 1):
            line = [surface(a + (b - a) * q, s * 0.18 * (1 - 2 * q)) + Vector((0, 0, 0.035 + 0.02 * s + 0.03 * math.sin(math.pi * q))) for q in np.linspace(-0.05, 1.05, 14)]
            parts.append(sweep(line, 0.062, 0.024, lace, power=3, side=(1, 0, 0)))
    for s in (-1, 1):
        loop = [surface(0.38, 0) + Vector(v) for v in [(0, 0, 0.09), (-0.04, s * 0.16, 0.17), (0.1, s * 0.3, 0.1), (0.16, s * 0.2, 0.03), (0.04, s * 0.04, 0.09)]]
        parts.append(sweep(curve(loop), 0.05, 0.024, lace, power=3, side=(0, 0, 1)))
    pull = [surface(0.045, 0) + Vector((0.02, 0, 0.0)), surface(0.03, 0) + Vector((-0.1, 0, 0.06)), surface(0, 0) + Vector((-0.1, 0, -0.12)), surface(0, 0) + Vector((0.0, 0, -0.24))]
    parts.append(sweep(curve(pull), 0.12, 0.025, panel, power=4, side=(0, 1, 0)))
    return group(parts, at, turn)


def sneakers():
    colours = (
        mat("#6f95a3", 0.9, bump="knit", scale=70, depth=0.6, Sheen_Weight=0.3),
        mat("#f2efe8", 0.45, bump="fine", scale=120, depth=0.06),
        mat("#fbfaf7", 0.6, bump="fine", scale=90, depth=0.12),
        mat("#e2603c", 0.6, bump="fine", scale=60, depth=0.2),
        mat("#ffffff", 0.8, bump="weave", scale=160, depth=0.4),
    )
    one_sneaker(colours, (-1.6, -0.5, 0), (0, 0, -8))
    one_sneaker(colours, (-1.25, 0.95, 0), (0, 0, 9))
    return dict(direction=-26, elevation=17, paper="#d6d8d6", fill=0.84)


def night():
    """A game on the handheld: hills under stars."""
    w, h = 960, 540
    image = Image.new("RGB", (w, h))
    draw, dice = ImageDraw.Draw(image), random.Random(9)
    for y in range(h):
        t = y / h
        draw.line([(0, y), (w, y)], fill=(int(24 + 190 * t**2.2), int(26 + 80 * t**1.6), int(84 + 70 * t)))
    for _ in range(220):
        x, y, r = dice.random() * w, dice.random() * h * 0.65, dice.choice((1, 1, 1, 2))
        draw.rectangle((x, y, x + r, y + r), fill=(255, 250, 230))
    glare = Image.new("RGB", (w, h))
    ImageDraw.Draw(glare).ellipse((610, 70, 770, 230), fill=(120, 100, 60))
    image = Image.fromarray(np.minimum(255, np.array(image, "uint16") + np.array(glare.filter(ImageFilter.GaussianBlur(40)))).astype("uint8"))
    draw = ImageDraw.Draw(image)
    draw.ellipse((650, 110, 730, 190), fill=(255, 244, 214))
    for base, swing, colour in [(360, 44, (86, 58, 130)), (420, 36, (52, 40, 100)), (470, 24, (26, 26, 66))]:
        ridge = [(x, base + swing * math.sin(x / 97 + base) + swing / 2 * math.sin(x / 41 + 2 * base)) for x in range(0, w + 8, 8)]
        draw.polygon(ridge + [(w, h), (0, h)], fill=colour)
    for x, size in [(90, 70), (150, 100), (840, 90), (900, 64), (780, 50)]:
        for k in range(3):
            draw.polygon([(x - size / 3 + k * 5, 500 - k * size / 4), (x, 500 - size * 0.75 - k * size / 4), (x + size / 3 - k * 5, 500 - k * size / 4)], fill=(12, 16, 44))
    draw.rectangle((0, 496, w, h), fill=(12, 16, 44))
    draw.polygon([(430, 496), (480, 420), (530, 496)], fill=(244, 140, 66))
    draw.polygon([(466, 496), (480, 450), (494, 496)], fill=(60, 24, 30))
    draw.ellipse((560, 470, 590, 500), fill=(255, 196, 84))
    for k in range(3):
        draw.regular_polygon((40 + k * 44, 40, 16), 4, 0, fill=(255, 92, 92))
    draw.text((w - 30, 42), "STAR 0128", font=font(36), fill="white", anchor="rm")
    return image


def handheld():
    body, dark, soft = mat("#f0ede6", 0.5, bump="fine", scale=260, depth=0.04), mat("#26282e", 0.5), mat("#3a3d45", 0.7, bump="fine", scale=120, depth=0.1)
    parts = [
        slab(2.5, 1.08, 0.2, 0.36, body, 0.075),
        slab(1.46, 0.9, 0.012, 0.06, mat("#040405", 0.06, coat=1, wear=0), 0.004, (0, 0, 0.1)),
        slab(1.34, 0.76, 0.004, 0.02, printed(night(), 1.2), 0, (0, 0, 0.107)),
    ]
    for x, y in [(-0.98, 0.22), (0.98, -0.17)]:
        parts.append(lathe([(0.13, 0), (0.17, 0.004, 0.003), (0.19, 0.0)], mat("#c9c4b8", 0.4), (x, y, 0.1)))
        parts.append(lathe([(0, 0), (0.1, 0, 0), (0.08, 0.09, 0.02), (0.145, 0.1, 0.02), (0.145, 0.14, 0.025), (0.1, 0.125, 0.02), (0, 0.12)], soft, (x, y, 0.09)))
    for size in [(0.34, 0.115, 0.07), (0.115, 0.34, 0.07)]:
        parts.append(box(size, dark, (-0.98, -0.2, 0.115), 0.018))
    for k, colour in enumerate(["#e2574c", "#f0b33c", "#4fa36b", "#4a7fd4"]):
        a = k * TAU / 4
        parts.append(disc(0.07, 0.06, mat(colour, 0.25, coat=0.8), (0.98 + 0.125 * math.cos(a), 0.24 + 0.125 * math.sin(a), 0.09), 0.02))
    for x, y in [(-0.8, 0.43), (0.8, 0.43)]:
        parts.append(slab(0.1, 0.035, 0.02, 0.017, dark, 0.004, (x, y, 0.105)))
    for s in (-1, 1):
        parts += [disc(0.012, 0.004, dark, (s * (1.0 + 0.05 * k), -0.42 + 0.012 * k, 0.0985), 0) for k in range(-3, 3)]
        parts.append(sweep(curve([(s * 0.72, 0.54, 0.0), (s * 0.98, 0.535, 0), (s * 1.17, 0.4, 0), (s * 1.23, 0.28, 0)]), 0.11, 0.05, dark, power=3))
    parts.append(lettering("HOSHINO", 0.045, mat("#8d8f96", 0.4), (0, -0.415, 0.107)))
    group(parts, (0, 0, 0.67), (70, 0, 0), 1.15)
    wood = mat("#a9794f", 0.5, bump="brushed", scale=18, depth=0.12)
    box((1.1, 0.75, 0.09), wood, (0, 0.12, 0.045), 0.03)
    box((1.1, 0.09, 0.14), wood, (0, -0.24, 0.12), 0.03)
    box((0.9, 0.09, 0.85), wood, (0, 0.36, 0.46), 0.03, (-20, 0, 0))
    return dict(direction=-24, elevation=20, paper="#c8c9d8", fill=0.86)


def mug():
    glaze = mat("#7d9aa8", 0.2, coat=0.8, bump="fine", scale=9, depth=0.12)
    clay = mat("#b08d6d", 0.85, bump="fine", scale=70, depth=0.35)
    wall = [(0.62, 0.5, 0), (0.66, 0.78, 0.2), (0.665, 1.36, 0.025), (0.615, 1.36, 0.025), (0.6, 0.3, 0.15), (0.4, 0.1, 0.1), (0, 0.1)]
    group([
        lathe([(0, 0.03), (0.4, 0.03, 0.01), (0.42, 0, 0.01), (0.48, 0, 0.02), (0.56, 0.1, 0.08), (0.625, 0.52)], clay),
        lathe(wall, glaze),
        lathe([(0.612, 0.49), (0.64, 0.5, 0.012), (0.645, 0.53, 0.012), (0.62, 0.56)], glaze),
        disc(0.61, 0.02, mat("#4a2a14", 0.12, coat=0.6, wear=0.1), (0, 0, 1.12)),
        lathe([(0.38, 0), (0.6, 0.0, 0.01), (0.612, 0.018), (0.6, 0.02), (0.38, 0.008)], mat("#a5713f", 0.4, bump="fine", scale=60, depth=0.3), (0, 0, 1.135)),
        sweep(curve([(0.62, 0, 1.12), (0.82, 0, 1.16), (1.02, 0, 1.05), (1.06, 0, 0.82), (0.96, 0, 0.6), (0.8, 0, 0.5), (0.62, 0, 0.5)]), 0.2, 0.115, glaze, power=2.6, side=(0, 1, 0), taper=lambda t: 1 + 0.25 * abs(2 * t - 1) ** 3),
    ], (0, 0, 0), (0, 0, -32))  # fmt: skip
    spots, dice = mat("#3d4a50", 0.4), random.Random(2)
    for _ in range(120):
        a, z, r = dice.random() * TAU, dice.uniform(0.6, 1.34), dice.choice((0.004, 0.005, 0.006, 0.011))
        disc(r, 0.003, spots, ((r0 := 0.6585 + 0.0086 * (z - 0.78)) * math.cos(a), r0 * math.sin(a), z), 0, (0, 90, math.degrees(a)), steps=12)
    for k in range(9):
        bean((-0.95 + 0.28 * dice.random() + 0.1 * k % 0.4, -0.62 + dice.random() * 0.35, 0.06), dice.random() * 360)
    return dict(direction=0, elevation=17, paper="#d6d2ca", fill=0.72)


def bean(at, turn):
    parts = []
    for s in (-1, 1):
        parts.append(lathe([(0, -0.1), (0.05, -0.08, 0.04), (0.068, 0, 0.06), (0.05, 0.08, 0.04), (0, 0.1)], mat("#3f2415", 0.35, bump="fine", scale=40, depth=0.1), (0, s * 0.022, 0), (0, 90, 0), steps=32))
    group(parts, at, (12, 0, turn), 0.9)


def bottle():
    paint, steel = mat("#b8443a", 0.55, bump="fine", scale=150, depth=0.12), metal("#d5d7da", 0.2, bump="brushed", scale=140, depth=0.04)
    cap = mat("#202226", 0.5, bump="fine", scale=200, depth=0.05)
    lathe([(0, 0), (0.5, 0, 0.03), (0.52, 0.14)], steel)
    lathe([(0.52, 0.14), (0.535, 0.145, 0.006), (0.535, 1.95, 0.24), (0.36, 2.26, 0.16), (0.36, 2.36)], paint)
    lathe([(0.34, 2.34), (0.375, 2.345, 0.01), (0.375, 2.42, 0.01), (0.34, 2.42)], steel)
    lathe([(0, 2.42), (0.37, 2.42, 0.01), (0.385, 2.44, 0.02), (0.385, 2.74, 0.05), (0, 2.75)], cap, ridges=36, depth=-0.018, steps=288)
    disc(0.3, 0.02, steel, (0, 0, 2.745), 0.01)
    for s in (-1, 1):
        disc(0.06, 0.07, steel, (s * 0.37, 0, 2.56), 0.02, (0, s * 90, 0))
    sweep(curve([(-0.43, 0, 2.56), (-0.44, 0, 2.8), (-0.3, 0, 3.05), (0, 0, 3.12), (0.3, 0, 3.05), (0.44, 0, 2.8), (0.43, 0, 2.56)]), 0.16, 0.055, cap, power=3, side=(0, 1, 0))
    words = lettering("CHANGFENG", 0.16, metal("#e8e2dc", 0.3), (0, -0.5355, 1.05), (90, -90, 0))
    words.scale.z = 0.5
    group([words], (0, 0, 0), (0, 0, -6))
    return dict(direction=-18, elevation=10, paper="#ddd5cd", fill=0.82)


def speaker():
    cloth = mat("#5d6b70", 0.95, bump="weave", scale=34, depth=0.8, Sheen_Weight=0.4)
    rubber, leather = mat("#2a2d30", 0.6, bump="fine", scale=150, depth=0.06), mat("#a06a3f", 0.5, bump="leather", scale=70, depth=0.25)
    brass = metal("#c9a36a", 0.22)
    lathe([(0, 0.0), (0.68, 0.0, 0.04), (0.75, 0.08, 0.04), (0.75, 0.16)], rubber)
    lathe([(0.74, 0.15), (0.775, 0.19, 0.03), (0.775, 1.66, 0.05), (0.72, 1.72)], cloth, steps=192)
    lathe([(0.70, 1.69), (0.755, 1.70, 0.015), (0.755, 1.76, 0.03), (0.69, 1.765, 0.01), (0.66, 1.72)], brass)
    lathe([(0.69, 1.74), (0.62, 1.70, 0.05), (0, 1.69)], rubber)
    for x, kind in [(-0.26, "-"), (0, "o"), (0.26, "+")]:
        disc(0.1, 0.03, mat("#3a3e42", 0.4), (x, 0, 1.69), 0.012)
        if kind != "o":
            box((0.08, 0.014, 0.006), mat("#d9dde0", 0.4), (x, 0, 1.722), 0.002)
        if kind == "+":
            box((0.014, 0.08, 0.006), mat("#d9dde0", 0.4), (x, 0, 1.722), 0.002)
    lathe([(0.04, 0), (0.05, 0.004, 0.001), (0.06, 0.0)], glow("#ffd9a0", 3), (0, 0, 1.72))
    strap = [(0.79, 0, 1.38), (0.83, 0, 1.62), (0.62, 0, 1.98), (0, 0, 2.16), (-0.62, 0, 1.98), (-0.83, 0, 1.62), (-0.79, 0, 1.38)]
    group([
        sweep(curve(strap), 0.2, 0.045, leather, power=5, side=(0, 1, 0)),
        disc(0.05, 0.04, brass, (0.8, 0, 1.45), 0.012, (0, 90, 0)),
        disc(0.05, 0.04, brass, (-0.8, 0, 1.45), 0.012, (0, -90, 0)),
    ], (0, 0, 0), (0, 0, -38))  # fmt: skip
    slab(0.3, 0.1, 0.02, 0.02, brass, 0.006, (0, -0.782, 0.42), (90, 0, 0))
    lettering("JINGGU", 0.06, mat("#4a3a20", 0.5), (0, -0.794, 0.42), (90, 0, 0))
    return dict(direction=-14, elevation=20, paper="#cfd3d1", fill=0.8)


def dial():
    size = 700
    y, x = np.mgrid[0:size, 0:size] - size / 2
    angle, radius = np.arctan2(y, x), np.hypot(x, y) / (size / 2)
    ray = 0.62 + 0.38 * np.cos(2 * angle + 0.9) ** 2 + 0.03 * np.sin(angle * 180)
    face = np.stack([18 * ray, 46 * ray, 84 * ray], -1) * (1.15 - 0.45 * radius[..., None] ** 2) * 1.25
    image = Image.fromarray(np.clip(face, 0, 255).astype("uint8"))
    draw = ImageDraw.Draw(image)
    for k in range(60):
        a, inner = k * TAU / 60, 318 if k % 5 else 306
        draw.line([(350 + r * math.sin(a), 350 - r * math.cos(a)) for r in (inner, 334)], fill="#dfe6ee", width=3 if k % 5 else 6)
    draw.text((350, 232), "LINGXI", font=font(38), fill="#e9eef4", anchor="mm")
    draw.text((350, 472), "AUTOMATIC", font=font(20), fill="#c7d0db", anchor="mm")
    draw.rectangle((524, 326, 580, 374), fill="#f4f2ec", outline="#c9ccd1", width=3)
    draw.text((552, 350), "29", font=font(34), fill="#16181c", anchor="mm")
    return image


def watch():
    steel, gold = metal("#d3d5d9", 0.14), metal("#e9ecef", 0.1)
    leather = mat("#6b3f26", 0.5, bump="leather", scale=45, depth=0.3)
    parts = [
        lathe([(0, -0.16), (0.56, -0.16, 0.05), (0.66, -0.04, 0.05), (0.66, 0.08, 0.04), (0.61, 0.15, 0.02), (0.555, 0.15, 0.015), (0.54, 0.1)], steel),
        lathe([(0.55, 0.145), (0.6, 0.175, 0.012), (0.545, 0.18, 0.01), (0.53, 0.12)], metal("#e4e6e9", 0.07)),
        disc(0.545, 0.002, printed(dial(), 0, 0.25, 0.3), (0, 0, 0.1), 0),
        lathe([(0.075, 0), (0.075, 0.16, 0.02), (0.02, 0.17), (0, 0.17)], steel, (0.66, 0, 0), (0, 90, 0), ridges=18, depth=-0.08, steps=144),
    ]
    for k in range(12):
        if k == 3:
            continue
        a = k * TAU / 12
        parts.append(box((0.03 if k else 0.07, 0.1, 0.02), gold, (0.42 * math.sin(a), 0.42 * math.cos(a), 0.115), 0.006, (0, 0, -math.degrees(a))))
    for length, width, a, z in [(0.3, 0.042, -52, 0.125), (0.44, 0.034, 60, 0.14)]:
        hand = [(-width / 2, -0.06), (width / 2, -0.06), (width / 2.6, length), (-width / 2.6, length)]
        parts.append(extrude(hand, 0.012, gold, 0.003, (0, 0, z), (0, 0, -a)))
    parts.append(extrude([(-0.006, -0.14), (0.006, -0.14), (0.003, 0.47), (-0.003, 0.47)], 0.006, metal("#d8402f", 0.3), 0.001, (0, 0, 0.152), (0, 0, -200)))
    parts.append(disc(0.03, 0.06, gold, (0, 0, 0.105), 0.008))
    for sx in (-1, 1):
        for sy in (-1, 1):
            lug = curve([(sx * 0.36, sy * 0.5, 0.02), (sx * 0.36, sy * 0.66, 0.02), (sx * 0.36, sy * 0.79, -0.1)])
            parts.append(sweep(lug, 0.14, 0.16, steel, power=3.5, side=(1, 0, 0)))
    path = curve([(0, 0.7, -0.05), (0, 0.92, -0.35), (0, 0.96, -0.85), (0, 0.66, -1.35), (0, 0, -1.55), (0, -0.66, -1.35), (0, -0.96, -0.85), (0, -0.92, -0.35), (0, -0.7, -0.05)])
    parts.append(sweep(path, 0.6, 0.09, leather, power=5, side=(1, 0, 0), taper=lambda t: 0.84 + 0.16 * abs(2 * t - 1)))
    for s in (-1, 1):
        for k in range(6, len(path) - 6, 3):
            factor = 0.84 + 0.16 * abs(2 * k / len(path) - 1)
            ahead = (path[min(k + 1, len(path) - 1)] - path[k - 1]).normalized()
            out = Vector((1, 0, 0)).cross(ahead)
            if out.dot(path[k] - Vector((0, 0, -0.75))) < 0:
                out.negate()
            start = path[k] + out * 0.047 * factor + Vector((s * 0.25 * factor, 0, 0))
            parts.append(sweep([start - ahead * 0.022, start, start + ahead * 0.022], 0.012, 0.012, mat("#d9b48c", 0.8)))
    group(parts, (0, 0, 1.77), (52, 0, 0), 1.25)
    return dict(direction=-24, elevation=16, paper="#d2d0cc", fill=0.8)


def lamp():
    paint, brass = mat("#55705f", 0.45, bump="fine", scale=200, depth=0.03), metal("#c79f5c", 0.2)
    lathe([(0, 0), (0.62, 0, 0.02), (0.62, 0.07, 0.03), (0.12, 0.1, 0.04), (0.09, 0.22, 0.02), (0, 0.22)], paint)
    tube([(0, 0, 0.15), (0, 0, 1.3), (-0.02, 0, 1.9), (0.16, 0, 2.38), (0.58, 0, 2.52), (0.9, 0, 2.34), (0.98, 0, 2.16)], 0.038, brass)
    disc(0.06, 0.05, brass, (0.26, -0.36, 0.075), 0.015)
    dome = [(0.06, 0.36), (0.12, 0.36, 0.03), (0.2, 0.28, 0.06), (0.58, 0.02, 0.2), (0.64, -0.16, 0.01), (0.62, -0.16, 0.01), (0.55, 0.0, 0.2), (0.18, 0.25, 0.06), (0, 0.26)]
    shade = mat("#55705f", 0.4, coat=0.2)
    group([
        lathe(dome, shade),
        disc(0.1, 0.14, brass, (0, 0, 0.32), 0.02),
        lathe([(0, -0.14), (0.1, -0.12, 0.06), (0.13, 0, 0.1), (0.06, 0.14, 0.05), (0, 0.2)], glow("#ffdca8", 90)),
    ], (1.0, 0, 1.86), (0, 14, 0), 1.15)  # fmt: skip
    for k, (size, colour, turn) in enumerate([((0.95, 0.7, 0.13), "#c8b79b", 14), ((0.84, 0.62, 0.1), "#8c4a3c", 24)]):
        box(size, mat(colour, 0.7, bump="weave", scale=120, depth=0.2), (1.2, 0.1, (0.065, 0.18)[k]), 0.015, (0, 0, turn))
        box((size[0] * 0.97, size[1] * 0.985, size[2] * 0.72), mat("#f1ebdd", 0.9, bump="weave", scale=220, depth=0.5), (1.2 + 0.015, 0.1 - 0.012, (0.065, 0.18)[k]), 0.004, (0, 0, turn))
    return dict(direction=-16, elevation=11, paper="#d8cfc0", fill=0.8, strength=0.5, exposure=0.25)


def camera():
    silver, black = metal("#c9cacb", 0.3, bump="fine", scale=300, depth=0.02), mat("#141416", 0.4)
    leather = mat("#27201c", 0.55, bump="leather", scale=55, depth=0.4)
    extrude(outline(2.3, 0.66, 0.3), 0.84, leather, 0.01, (0, 0, 0.62))
    extrude(outline(2.33, 0.69, 0.31), 0.2, silver, 0.05, (0, 0, 0.1))
    extrude(outline(2.33, 0.69, 0.31), 0.3, silver, 0.06, (0, 0, 1.16))
    box((1.0, 0.62, 0.2), silver, (-0.1, 0, 1.34), 0.07)
    front, dark = -0.345, metal("#1b1c1f", 0.3)
    rings = [
        ([(0, 0), (0.5, 0, 0.02), (0.5, 0.07, 0.02), (0.45, 0.07)], silver, 0),
        ([(0.3, 0.06), (0.455, 0.06, 0.01), (0.455, 0.2, 0.015), (0.3, 0.2)], dark, 0),
        ([(0.3, 0.2), (0.47, 0.2, 0.015), (0.47, 0.42, 0.015), (0.3, 0.42)], dark, 60),
        ([(0.3, 0.42), (0.44, 0.42, 0.01), (0.44, 0.5, 0.01), (0.3, 0.5)], silver, 0),
        ([(0.3, 0.5), (0.43, 0.5, 0.01), (0.43, 0.66, 0.02), (0.38, 0.66, 0.01), (0.3, 0.5)], dark, 0),
        ([(0.38, 0.65), (0.3, 0.5, 0.02), (0.24, 0.47)], black, 40),
    ]
    for profile, material, ridges in rings:
        lathe(profile, material, (0.12, front, 0.62), (90, 0, 0), 360 if ridges == 60 else 128, ridges if ridges == 60 else 0, -0.02)
    lathe([(0.31, 0.5), (0.26, 0.55, 0.06), (0, 0.585)], mat("#0b0618", 0.03, coat=1, wear=0), (0.12, front, 0.62), (90, 0, 0))
    for k, a in enumerate(range(-60, 61, 20)):
        group([lettering(["16", "11", "8", "5.6", "4", "2.8", "2"][k], 0.075, mat("#f2f2f2", 0.5), (0, 0.457, 0.13), (-90, 0, 180))], (0.12, front, 0.62), (90, 0, 0)).rotation_euler.rotate_axis("Z", math.radians(-a))
    for x, width, tint in [(-0.32, 0.3, "#0a0d14"), (0.78, 0.22, "#0a0d14")]:
        slab(width + 0.06, 0.2, 0.03, 0.03, black, 0.008, (x, front - 0.005, 1.22), (90, 0, 0))
        slab(width, 0.14, 0.02, 0.02, mat(tint, 0.03, coat=1, wear=0), 0.004, (x, front - 0.014, 1.22), (90, 0, 0))
    disc(0.045, 0.02, glass(), (-0.72, front, 1.22), 0.008, (90, 0, 0))
    disc(0.03, 0.015, mat("#8a1d17", 0.2, coat=1), (-0.72, front, 1.22), 0.005, (90, 0, 0))
    lettering("MIRA", 0.15, mat("#1c1c1e", 0.4), (0.3, front - 0.002, 1.17), (90, 0, 0))
    disc(0.19, 0.15, silver, (-0.86, 0, 1.3), 0.02, ridges=48, depth=-0.02, steps=288)
    disc(0.15, 0.02, dark, (-0.86, 0, 1.44), 0.005)
    disc(0.17, 0.12, silver, (0.62, 0, 1.3), 0.02, ridges=48, depth=-0.02, steps=288)
    disc(0.07, 0.06, metal("#d9442f", 0.3), (0.62, 0, 1.41), 0.025)
    disc(0.14, 0.1, silver, (0.95, 0, 1.3), 0.02, ridges=40, depth=-0.03, steps=240)
    box((0.36, 0.34, 0.02), metal("#8e9094", 0.3), (-0.1, 0.05, 1.445), 0.006)
    for s in (-1, 1):
        box((0.05, 0.34, 0.035), metal("#aeb0b4", 0.25), (-0.1 + s * 0.155, 0.05, 1.465), 0.008)
    strap = mat("#8a5a34", 0.55, bump="leather", scale=60, depth=0.25)
    for s in (-1, 1):
        lathe([(0.045, -0.012), (0.065, -0.012, 0.01), (0.065, 0.012, 0.01), (0.045, 0.012, 0.01), (0.045, -0.012)], metal("#d6d7d9", 0.15), (s * 1.2, 0, 1.16), (90, 0, 0))
    sweep(curve([(1.2, 0, 1.12), (1.42, -0.08, 0.8), (1.5, -0.22, 0.3), (1.36, -0.52, 0.05), (0.95, -0.98, 0.04), (0.25, -1.22, 0.035), (-0.55, -1.14, 0.04), (-1.2, -0.78, 0.04), (-1.5, -0.3, 0.25), (-1.42, -0.06, 0.8), (-1.2, 0, 1.12)]), 0.13, 0.035, strap, power=5, side=(0, 1, 0))  # fmt: skip
    return dict(direction=-24, elevation=17, paper="#d5d1ca", fill=0.84)


def suitcase():
    shell, black, chrome = mat("#39618a", 0.36, coat=0.35, bump="fine", scale=160, depth=0.05), mat(BLACK, 0.5), metal("#dcdee2", 0.12)
    z = 1.4
    slab(1.62, 2.3, 0.96, 0.24, shell, 0.14, (0, 0, z), (90, 0, 0))
    slab(1.645, 2.325, 0.05, 0.25, metal("#9da3ab", 0.3), 0.012, (0, 0.02, z), (90, 0, 0))
    for x in (-0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6):
        for y in (-0.48, 0.48):
            slab(0.1, 1.92, 0.05, 0.05, shell, 0.022, (x, y, z), (90, 0, 0))
    for s in (-1, 1):
        for y in (-0.24, 0.26):
            slab(0.09, 1.9, 0.05, 0.045, shell, 0.022, (s * 0.81, y, z), (90, 0, 90))
        for x in (-0.58, 0.58):
            box((0.22, 0.2, 0.14), black, (x, s * 0.3, 0.24), 0.04)
            for d in (-0.045, 0.045):
                disc(0.125, 0.06, mat("#2c2f33", 0.55), (x + d - 0.03, s * 0.3, 0.125), 0.02, (0, 90, 0))
                disc(0.06, 0.066, chrome, (x + d - 0.033, s * 0.3, 0.125), 0.01, (0, 90, 0))
        tube([(s * 0.36, 0.28, 2.4), (s * 0.36, 0.28, 3.12)], 0.035, chrome)
        box((0.14, 0.12, 0.05), black, (s * 0.36, 0.28, 2.56), 0.02)
    sweep(curve([(-0.42, 0.28, 3.12), (-0.2, 0.28, 3.16), (0.2, 0.28, 3.16), (0.42, 0.28, 3.12)]), 0.15, 0.13, black, power=3)
    sweep(curve([(-0.3, -0.1, 2.54), (-0.24, -0.1, 2.66), (0, -0.1, 2.7), (0.24, -0.1, 2.66), (0.3, -0.1, 2.54)]), 0.14, 0.08, black, power=3, side=(0, 1, 0))
    sweep(curve([(0.8, -0.02, 1.1), (0.9, -0.02, 1.18), (0.93, -0.02, 1.4), (0.9, -0.02, 1.62), (0.8, -0.02, 1.7)]), 0.12, 0.06, black, power=3, side=(0, 1, 0))
    box((0.06, 0.2, 0.3), chrome, (0.82, 0.02, 2.02), 0.02)
    tag = mat("#b57a4a", 0.5, bump="leather", scale=70, depth=0.25)
    tube([(-0.28, -0.1, 2.6), (-0.36, -0.3, 2.5), (-0.34, -0.52, 2.32)], 0.018, tag)
    slab(0.26, 0.42, 0.03, 0.06, tag, 0.01, (-0.33, -0.56, 2.12), (86, 8, 4))
    slab(0.42, 0.12, 0.02, 0.03, chrome, 0.006, (0.45, -0.508, 2.22), (90, 0, 0))
    lettering("YUNYOU", 0.075, black, (0.45, -0.52, 2.22), (90, 0, 0))
    return dict(direction=-30, elevation=13, paper="#ccd5dd", fill=0.84)


ALL = [
    phone, phone_back, headphones, espresso, espresso_detail, espresso_green, sneakers, handheld, mug, bottle, speaker, watch, lamp, camera,
    suitcase,
]  # fmt: skip
