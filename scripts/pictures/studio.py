"""The studio in which the demo's goods are photographed: backdrop, lights, camera, materials, and the few shapes of which
the goods are made. One unit is about ten centimetres; goods stand on z = 0 and look towards -y."""

import math
from pathlib import Path

import bpy
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Vector
from PIL import Image, ImageFont

FONTS = Path(bpy.utils.system_resource("DATAFILES")) / "fonts"
TAU = math.tau


def reset():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.resolution_x = bpy.context.scene.render.resolution_y = 400


def rgb(colour):
    """The linear colour of `#rrggbb`."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts] + [1.0]


# Materials


class Nodes:
    """A new material, and its nodes by short calls."""

    def __init__(self):
        self.material = bpy.data.materials.new("m")
        self.material.use_nodes = True
        self.tree = self.material.node_tree
        self.shader = self.tree.nodes["Principled BSDF"]

    def add(self, kind, values=None, **settings):
        node = self.tree.nodes.new(kind)
        for name, value in settings.items():
            setattr(node, name, value)
        for name, value in (values or {}).items():
            node.inputs[name].default_value = value
        return node

    def link(self, source, output, target, name):
        self.tree.links.new(source.outputs[output], target.inputs[name])

    def coordinates(self, kind="Object", scale=(1, 1, 1)):
        mapping = self.add("ShaderNodeMapping", {"Scale": scale})
        self.link(self.add("ShaderNodeTexCoord"), kind, mapping, "Vector")
        return mapping


def mat(colour, rough=0.4, metal=0.0, coat=0.0, bump=None, scale=40.0, depth=0.1, wear=0.25, stretch=(1, 1, 1), **more):
    """A material. `bump` is the grain of its surface: fine, leather, knit, weave or brushed; `wear` is by how much of
    itself the roughness varies."""
    nodes = Nodes()
    shader = nodes.shader
    values = {"Base Color": rgb(colour), "Roughness": rough, "Metallic": metal, "Coat Weight": coat, "Coat Roughness": 0.05}
    for name, value in (values | {name.replace("_", " "): value for name, value in more.items()}).items():
        shader.inputs[name].default_value = value
    if wear:
        noise = nodes.add("ShaderNodeTexNoise", {"Scale": 6.0, "Detail": 6.0})
        nodes.link(nodes.coordinates(), 0, noise, "Vector")
        span = nodes.add("ShaderNodeMapRange", {"To Min": rough * (1 - wear), "To Max": min(1.0, rough * (1 + wear))})
        nodes.link(noise, 0, span, "Value")
        nodes.link(span, 0, shader, "Roughness")
    if bump:
        if bump == "brushed":
            stretch = tuple(s * f for s, f in zip(stretch, (0.02, 1, 1)))
        at = nodes.coordinates(scale=stretch)
        if bump == "leather":
            grain = nodes.add("ShaderNodeTexVoronoi", {"Scale": scale}, feature="F1")
        elif bump in ("knit", "weave"):
            grain = nodes.add("ShaderNodeTexWave", {"Scale": scale, "Distortion": 0.6 if bump == "knit" else 0.0, "Detail": 1.0})
            if bump == "weave":
                grain.bands_direction = "Z"
        else:
            grain = nodes.add("ShaderNodeTexNoise", {"Scale": scale, "Detail": 3.0})
        nodes.link(at, 0, grain, "Vector")
        relief = nodes.add("ShaderNodeBump", {"Strength": depth, "Distance": 0.02})
        nodes.link(grain, 0 if bump != "leather" else "Distance", relief, "Height")
        nodes.link(relief, 0, shader, "Normal")
    return nodes.material


def metal(colour="#c9ccd1", rough=0.22, **more):
    return mat(colour, rough, metal=1.0, **more)


def glass(colour="#ffffff", rough=0.0):
    return mat(colour, rough, wear=0, Transmission_Weight=1.0, IOR=1.45)


def glow(colour, strength):
    return mat(colour, wear=0, Emission_Color=rgb(colour), Emission_Strength=strength)


def printed(image, strength=0.0, rough=0.12, coat=1.0, kind="Generated", axes="xy"):
    """A surface with a picture on its bounding box; with a strength it shines like a screen."""
    nodes = Nodes()
    block = bpy.data.images.new("i", *image.size, alpha=False)
    flat = image.convert("RGBA").transpose(Image.FLIP_TOP_BOTTOM)
    block.pixels.foreach_set([v / 255 for v in flat.tobytes()])
    block.pack()
    texture = nodes.add("ShaderNodeTexImage", image=block, extension="EXTEND")
    split, join = nodes.add("ShaderNodeSeparateXYZ"), nodes.add("ShaderNodeCombineXYZ")
    nodes.link(nodes.coordinates(kind), 0, split, 0)
    for axis, name in zip(axes, "XY"):
        nodes.link(split, axis.upper(), join, name)
    nodes.link(join, 0, texture, "Vector")
    if strength:
        nodes.link(texture, 0, nodes.shader, "Emission Color")
        nodes.shader.inputs["Base Color"].default_value = (0.003, 0.003, 0.004, 1)
        # The lamps must not hide what the screen shows.
        nodes.shader.inputs["Specular IOR Level"].default_value, rough, coat = 0.2, 0.35, 0.0
    else:
        nodes.link(texture, 0, nodes.shader, "Base Color")
    for name, value in {"Emission Strength": strength, "Roughness": rough, "Coat Weight": coat, "Coat Roughness": 0.02}.items():
        nodes.shader.inputs[name].default_value = value
    return nodes.material


def font(size, name="Inter.woff2"):
    return ImageFont.truetype(str(FONTS / name), size)


# Shapes


def thing(name, vertices, faces, material, bevel=0.0, segments=4, at=(0, 0, 0), turn=(0, 0, 0), sharp=30):
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices, [], faces)
    mesh.materials.append(material)
    mesh.shade_smooth()
    new = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(new)
    if bevel:
        edge = new.modifiers.new("bevel", "BEVEL")
        edge.width, edge.segments, edge.limit_method, edge.angle_limit = bevel, segments, "ANGLE", math.radians(sharp)
        new.modifiers.new("normals", "WEIGHTED_NORMAL").keep_sharp = True
    new.location, new.rotation_euler = at, [math.radians(a) for a in turn]
    return new


def group(parts, at=(0, 0, 0), turn=(0, 0, 0), scale=1.0):
    """Parts that move together. Returns a single parent."""
    parent = bpy.data.objects.new("group", None)
    bpy.context.scene.collection.objects.link(parent)
    for part in parts:
        part.parent = parent
    parent.location, parent.rotation_euler = at, [math.radians(a) for a in turn]
    parent.scale = scale if isinstance(scale, tuple) else (scale,) * 3
    return parent


def box(size, material, at=(0, 0, 0), bevel=0.03, turn=(0, 0, 0), segments=5):
    """A box whose centre is `at`."""
    x, y, z = (s / 2 for s in size)
    points = [(sx * x, sy * y, sz * z) for sx in (-1, 1) for sy in (-1, 1) for sz in (-1, 1)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return thing("box", points, faces, material, bevel, segments, at, turn)


def outline(width, height, radius, steps=14):
    """A rounded rectangle around the origin."""
    points = []
    for corner, (sx, sy) in enumerate([(1, 1), (-1, 1), (-1, -1), (1, -1)]):
        for step in range(steps + 1):
            angle = (corner + step / steps) * TAU / 4
            points.append((sx * (width / 2 - radius) + radius * math.cos(angle), sy * (height / 2 - radius) + radius * math.sin(angle)))
    return points


def extrude(points, depth, material, edge=0.02, at=(0, 0, 0), turn=(0, 0, 0), segments=5):
    """A flat outline, made `depth` thick around z = 0, with rounded rims."""
    n = len(points)
    vertices = [(x, y, z) for z in (-depth / 2, depth / 2) for x, y in points]
    faces = [tuple(reversed(range(n))), tuple(range(n, 2 * n))] + [(i, (i + 1) % n, n + (i + 1) % n, n + i) for i in range(n)]
    return thing("slab", vertices, faces, material, edge, segments, at, turn, 50)


def slab(width, height, depth, radius, material, edge=0.02, at=(0, 0, 0), turn=(0, 0, 0)):
    return extrude(outline(width, height, radius), depth, material, edge, at, turn)


def fillet(profile):
    """A polyline `(x, y, radius)` with rounded corners."""
    points = []
    for i, (x, y, *radius) in enumerate(profile):
        here, r = Vector((x, y)), radius[0] if radius else 0
        if not r or i in (0, len(profile) - 1):
            points.append(here)
            continue
        before, after = Vector(profile[i - 1][:2]) - here, Vector(profile[i + 1][:2]) - here
        reach = min(r, before.length * 0.49, after.length * 0.49)
        a, b = here + before.normalized() * reach, here + after.normalized() * reach
        points += [(a.lerp(here, t)).lerp(here.lerp(b, t), t) for t in (k / 7 for k in range(8))]
    return points


def lathe(profile, material, at=(0, 0, 0), turn=(0, 0, 0), steps=128, ridges=0, depth=0.0):
    """The profile `(radius, z, rounding)` turned around z; `ridges` flute it."""
    points = fillet(profile)
    vertices, faces = [], []
    for k in range(steps):
        angle = k * TAU / steps
        factor = 1 + depth * (math.cos(angle * ridges) > 0) if ridges else 1
        vertices += [(p.x * factor * math.cos(angle), p.x * factor * math.sin(angle), p.y) for p in points]
    n = len(points)
    for k in range(steps):
        following = (k + 1) % steps
        faces += [(k * n + i, following * n + i, following * n + i + 1, k * n + i + 1) for i in range(n - 1)]
    new = thing("lathe", vertices, faces, material, 0, 0, at, turn)
    new.modifiers.new("weld", "WELD").merge_threshold = 1e-5
    new.modifiers.new("normals", "WEIGHTED_NORMAL")
    return new


def disc(radius, height, material, at=(0, 0, 0), edge=0.02, turn=(0, 0, 0), **more):
    """A round plate or pillar that begins at z = 0."""
    return lathe([(0, 0), (radius, 0, edge), (radius, height, edge), (0, height)], material, at, turn, **more)


def curve(points, steps=24, closed=False):
    """A smooth line through points (Catmull-Rom)."""
    p = [Vector(q) for q in points]
    n, line = len(p), []
    for i in range(n if closed else n - 1):
        a, b, c, d = (p[(i + k) % n] if closed else p[min(max(i + k, 0), n - 1)] for k in (-1, 0, 1, 2))
        for k in range(steps):
            t = k / steps
            line.append(0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3))
    return line if closed else line + [p[-1]]


def sweep(line, width, height, material, closed=False, power=2.0, side=(0, 0, 1), taper=None, at=(0, 0, 0), turn=(0, 0, 0)):
    """A cross-section moved along a line: round with power 2, with flat sides above. `side` is where the width points at
    the beginning; an open line carries it on, so that it never twists."""
    vertices, faces, n, ring, side = [], [], len(line), 28, Vector(side)
    for i, point in enumerate(line):
        ahead, behind = (line[(i + 1) % n], line[i - 1]) if closed else (line[min(i + 1, n - 1)], line[max(i - 1, 0)])
        along = (ahead - behind).normalized()
        across = (side - along * along.dot(side)).normalized()
        if not closed:
            side = across
        up = along.cross(across)
        factor = taper(i / (n - 1)) if taper else 1.0
        for k in range(ring):
            c, s = math.cos(k * TAU / ring), math.sin(k * TAU / ring)
            x = math.copysign(abs(c) ** (2 / power), c) * width / 2 * factor
            y = math.copysign(abs(s) ** (2 / power), s) * height / 2 * factor
            vertices.append(point + across * x + up * y)
    for i in range(n if closed else n - 1):
        j = (i + 1) % n
        faces += [(i * ring + k, i * ring + (k + 1) % ring, j * ring + (k + 1) % ring, j * ring + k) for k in range(ring)]
    if not closed:
        faces += [tuple(reversed(range(ring))), tuple(range((n - 1) * ring, n * ring))]
    return thing("sweep", vertices, faces, material, 0, 0, at, turn)


def tube(points, radius, material):
    return sweep(curve(points), radius * 2, radius * 2, material, side=(0.5, 0.8, 0.3))


def lettering(words, size, material, at=(0, 0, 0), turn=(0, 0, 0)):
    data = bpy.data.curves.new("t", "FONT")
    data.body, data.size, data.extrude, data.align_x, data.align_y = words, size, 0.002, "CENTER", "CENTER"
    data.font = bpy.data.fonts.load(str(FONTS / "Inter.woff2"))
    data.materials.append(material)
    new = bpy.data.objects.new("t", data)
    bpy.context.scene.collection.objects.link(new)
    new.location, new.rotation_euler = at, [math.radians(a) for a in turn]
    return new


# Backdrop, light, camera


def backdrop(colour):
    """A sheet that lies on the table and rises behind it in a wide curve."""
    line = [(-30, 0)] + [(6 + 5 * math.sin(a), 5 - 5 * math.cos(a)) for a in (k / 24 * TAU / 4 for k in range(25))] + [(11, 40)]
    vertices = [(x, y, z) for x in (-60, 60) for y, z in line]
    n = len(line)
    faces = [(i, i + 1, n + i + 1, n + i) for i in range(n - 1)]
    thing("backdrop", vertices, faces, mat(colour, 0.7, wear=0.1, Specular_IOR_Level=0.25))


def light(at, power, size, towards=(0, 0, 1), colour="#ffffff", height=None):
    data = bpy.data.lights.new("l", "AREA")
    data.energy, data.shape, data.size, data.size_y, data.color = power, "RECTANGLE", size, height or size, rgb(colour)[:3]
    new = bpy.data.objects.new("l", data)
    bpy.context.scene.collection.objects.link(new)
    new.location = at
    new.rotation_euler = (Vector(towards) - Vector(at)).to_track_quat("-Z", "Y").to_euler()


def lights(strength=1.0):
    """A soft key from the left, a strip behind the right edge, a weak fill, and a wide panel above."""
    light((-5, -5, 6.5), 900 * strength, 4, colour="#fff6ec")
    light((5.5, 3.2, 4), 420 * strength, 1.2, colour="#eef4ff", height=5)
    light((6, -6, 3), 170 * strength, 5)
    light((0, 1.5, 8), 420 * strength, 6, height=4)
    world = bpy.data.worlds.new("w")
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs[0].default_value = (0.9, 0.95, 1, 1)
    world.node_tree.nodes["Background"].inputs[1].default_value = 0.32 * strength
    bpy.context.scene.world = world


def camera(direction, elevation, fill=0.76, lift=0.0):
    """Looks at everything but the backdrop from a direction (degrees, 0 is the front) and fills this part of the frame."""
    bpy.context.view_layer.update()
    graph = bpy.context.evaluated_depsgraph_get()
    points = []
    for part in bpy.context.scene.objects:
        if part.type in ("MESH", "FONT") and part.name != "backdrop":
            points += [part.matrix_world @ Vector(c) for c in part.evaluated_get(graph).bound_box]
    data = bpy.data.cameras.new("c")
    data.lens, data.sensor_width, data.clip_end = 85, 36, 200
    new = bpy.data.objects.new("c", data)
    scene = bpy.context.scene
    scene.collection.objects.link(new)
    scene.camera = new
    a, e = math.radians(direction), math.radians(elevation)
    back = Vector((math.sin(a) * math.cos(e), -math.cos(a) * math.cos(e), math.sin(e)))
    target = sum(points, Vector()) / len(points)
    target.z = (min(p.z for p in points) + max(p.z for p in points)) / 2
    distance = 12.0
    new.rotation_euler = back.to_track_quat("Z", "Y").to_euler()
    for _ in range(6):
        new.location = target + back * distance
        bpy.context.view_layer.update()
        seen = [world_to_camera_view(scene, new, p) for p in points]
        left, right = min(p.x for p in seen), max(p.x for p in seen)
        low, high = min(p.y for p in seen), max(p.y for p in seen)
        extent = 2 * distance * math.tan(data.angle / 2)
        matrix = new.matrix_world.to_3x3()
        target += matrix @ Vector((1, 0, 0)) * ((left + right) / 2 - 0.5) * extent
        target += matrix @ Vector((0, 1, 0)) * ((low + high) / 2 - 0.5 + lift) * extent
        distance *= max(right - left, high - low) / fill
    data.dof.use_dof, data.dof.focus_distance, data.dof.aperture_fstop = True, distance - 0.4, 1.4


def shoot(file, size, samples, threads=1, exposure=0.0):
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    cycles = scene.cycles
    cycles.device, cycles.samples, cycles.use_adaptive_sampling = "CPU", samples, True
    # The denoiser needs few samples, and the backdrop fewer than the goods.
    cycles.adaptive_threshold, cycles.adaptive_min_samples = 0.06, 4
    cycles.use_denoising, cycles.denoiser, cycles.max_bounces = True, "OPENIMAGEDENOISE", 5
    cycles.diffuse_bounces = cycles.glossy_bounces = 3
    cycles.caustics_reflective = cycles.caustics_refractive = False
    cycles.sample_clamp_indirect = 4.0
    scene.render.resolution_x = scene.render.resolution_y = size
    scene.render.threads_mode, scene.render.threads = "FIXED", threads
    scene.view_settings.view_transform, scene.view_settings.look = "AgX", "AgX - Medium High Contrast"
    scene.view_settings.exposure = exposure
    scene.render.image_settings.file_format = "PNG"
    scene.render.filepath = str(file)
    bpy.ops.render.render(write_still=True)
