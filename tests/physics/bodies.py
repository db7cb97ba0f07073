"""Bodies as STL files. `python3 bodies.py FILE` writes configs/gallery/heat_sink.stl."""
import gzip
import math
import struct
import sys
from pathlib import Path


def extrude(profile, cuts, low, high):
    """Triangles of a prism along z; `cuts`: triples of corners that cover the profile."""
    def at(corner, z):
        return (*profile[corner], z)
    triangles = []
    for a, b, c in cuts:
        triangles += [(at(a, high), at(b, high), at(c, high)), (at(c, low), at(b, low), at(a, low))]
    for a in range(len(profile)):
        b = (a + 1) % len(profile)
        triangles += [(at(a, low), at(b, low), at(b, high)), (at(a, low), at(b, high), at(a, high))]
    return triangles


def cube(edge=1.0):
    corners = [(0.0, 0.0), (edge, 0.0), (edge, edge), (0.0, edge)]
    return extrude(corners, [(0, 1, 2), (0, 2, 3)], 0.0, edge)


def ball(radius, rows=48):
    def at(row, column):
        polar, around = math.pi * row / rows, math.pi * (column % (2 * rows)) / rows
        flat = radius * math.sin(polar) if 0 < row < rows else 0.0
        return flat * math.cos(around), flat * math.sin(around), radius * math.cos(polar)
    triangles = []
    for row in range(rows):
        for column in range(2 * rows):
            a, b = at(row, column), at(row, column + 1)
            c, d = at(row + 1, column + 1), at(row + 1, column)
            triangles += [(a, d, c)] if row < rows - 1 else []
            triangles += [(a, c, b)] if row > 0 else []
    return triangles


def heat_sink(fins=2, pitch=6.0, thickness=2.0, base=4.0, height=20.0):
    """In mm: a plate with straight fins along z, 10 mm long."""
    profile, cuts = [(fins * pitch, 0.0), (fins * pitch, base)], []
    for fin in reversed(range(fins)):
        left = (fin + 0.5) * pitch - thickness / 2
        first = len(profile)
        profile += [(left + thickness, base), (left + thickness, base + height),
                    (left, base + height), (left, base)]
        cuts += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    profile += [(0.0, base), (0.0, 0.0)]
    end = len(profile) - 1
    feet = [corner for corner in range(1, end) if profile[corner][1] == base]
    cuts += [(end, low, high) for low, high in zip(feet, feet[1:])] + [(end, 0, 1)]
    return extrude(profile, cuts, -5.0, 5.0)


def write_text(path, triangles):
    lines = ["solid body"]
    for corners in triangles:
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += [f"vertex {x!r} {y!r} {z!r}" for x, y, z in corners] + ["endloop", "endfacet"]
    Path(path).write_text("\n".join([*lines, "endsolid body", ""]))


def write_stl(path, triangles):
    with open(path, "wb") as stream:
        stream.write(b"\0" * 80 + struct.pack("<I", len(triangles)))
        for corners in triangles:
            stream.write(struct.pack("<12fH", 0, 0, 0, *(x for point in corners for x in point), 0))


def write_tiff(path, labels):
    """16 bits, a page for each z, one strip each."""
    nz, ny, nx = labels.shape
    data = b"II*\0" + struct.pack("<I", 8)
    for k, page in enumerate(labels):
        strip = page.astype("<u2").tobytes()
        tags = ((256, 4, nx), (257, 4, ny), (258, 3, 16), (259, 3, 1), (262, 3, 1), (277, 3, 1),
                (278, 4, ny), (279, 4, len(strip)))
        at = len(data) + 2 + 12 * (len(tags) + 1) + 4    # of the strip
        entries = sorted([*tags, (273, 4, at)])
        after = at + len(strip)
        data += struct.pack("<H", len(entries))
        data += b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in entries)
        data += struct.pack("<I", after if k < nz - 1 else 0) + strip
    Path(path).write_bytes(data)


def write_nifti(path, values, voxel=(1.0, 1.0, 1.0), unit=0, scale=(0.0, 0.0), sform=None,
                quaternion=None):
    """`values` [z][y][x] of any type and byte order; unit: 0 unknown, 1 m, 2 mm, 3 um. sform: 3
    rows of 3 numbers; quaternion: b, c, d of a qform."""
    order = ">" if values.dtype.byteorder == ">" else "<"
    codes = {"u1": 2, "i2": 4, "i4": 8, "f4": 16, "c8": 32, "f8": 64, "i1": 256, "u2": 512,
             "u4": 768, "i8": 1024, "u8": 1280}
    kind = values.dtype.str[1:]
    shape = (3, *reversed(values.shape), *[1] * 4)
    header = struct.pack(order + "i36x8h14x2h2x11f3xB", 348, *shape, codes[kind],
                         8 * values.dtype.itemsize, 1.0, *voxel, *[1.0] * 4, 352.0, *scale, unit)
    rows = [] if sform is None else [number for row in sform for number in (*row, -7.0)]
    header = header.ljust(252, b"\0") + struct.pack(
        order + "2h18f", int(quaternion is not None), int(sform is not None),
        *(quaternion or [0.0] * 3), *[3.0] * 3, *rows or [0.0] * 12)
    data = header.ljust(344, b"\0") + b"n+1\0" + bytes(4) + values.tobytes()
    Path(path).write_bytes(gzip.compress(data) if str(path).endswith(".gz") else data)


if __name__ == "__main__":
    write_stl(Path(sys.argv[1]), heat_sink())
