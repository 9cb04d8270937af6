#!/usr/bin/env python3
"""Outlines of the letters of `.png` pictures, from the fonts DejaVu Sans Condensed 2.37 (needs fontTools).

    python3 outlines.py FOLDER      FOLDER has DejaVuSansCondensed.ttf and DejaVuSansCondensed-Bold.ttf

Writes `regular.txt` and `bold.txt` beside this script, one line for each letter, in the order of their code points:

    LETTER ADVANCE M x y L x y Q x1 y1 x y ...

M begins a closed contour, L is a line, Q a quadratic Bézier curve with its control point first. All places are
absolute, y is upwards, and 2048 units are the size of the font.
"""

import pathlib
import sys
from fontTools.pens.basePen import BasePen
from fontTools.ttLib import TTFont

UNITS_PER_EM = 2048
# first and last code points
BLOCKS = [
    (0x20, 0x7E),  # ASCII
    (0xA1, 0x17F),  # Latin of Europe
    (0x2B0, 0x36F),  # modifiers, combining accents
    (0x370, 0x45F),  # Greek, Cyrillic
    (0x1D62, 0x1D6A),  # subscripts
    (0x1E00, 0x1EFF),  # Latin with more accents
    (0x2010, 0x2027),  # dashes, quotation marks, dots
    (0x2030, 0x205E),  # per mille, primes
    (0x2070, 0x20BF),  # superscripts, subscripts, currencies
    (0x2100, 0x22FF),  # letterlike, fractions, arrows, operators of mathematics
    (0x2300, 0x2311),  # ⌀, ceilings and floors
    (0x25A0, 0x25FF),  # geometric shapes
    (0x2605, 0x2606),  # stars
    (0x2713, 0x2718),  # check marks
    (0x27E8, 0x27EB),  # angle brackets
    (0x2C7C, 0x2C7C),  # subscript j
    (0xFFFD, 0xFFFD),  # cannot be shown
]


class Outline(BasePen):
    """Collects contours; composite glyphs and implied points are resolved by `BasePen`."""

    def __init__(self, glyphs):
        super().__init__(glyphs)
        self.words = []

    def push(self, letter, *points):
        places = [f"{c:g}" for point in points for c in point]
        # units and, midway between two points, halves
        assert [float(c) for c in places] == [c for point in points for c in point]
        self.words += [letter] + places

    def _moveTo(self, p):
        self.push("M", p)

    def _lineTo(self, p):
        self.push("L", p)

    def _qCurveToOne(self, p1, p):
        self.push("Q", p1, p)


def write(font, target):
    assert font["head"].unitsPerEm == UNITS_PER_EM
    names, glyphs, advances = font.getBestCmap(), font.getGlyphSet(), font["hmtx"]
    # outlines as the font has them: fontTools moves them to their left side bearings, which are rounded in some
    for name, (advance, _) in advances.metrics.items():
        advances[name] = (advance, getattr(font["glyf"][name], "xMin", 0))
    lines = []
    for code in (code for first, last in BLOCKS for code in range(first, last + 1)):
        if code in names:
            outline = Outline(glyphs)
            glyphs[names[code]].draw(outline)
            lines.append(" ".join([chr(code), str(advances[names[code]][0])] + outline.words) + "\n")
    target.write_text("".join(lines), encoding="utf-8", newline="\n")
    print(f"{target.name}: {len(lines)} letters, {target.stat().st_size} bytes")


here = pathlib.Path(__file__).parent
for style, name in [("DejaVuSansCondensed", "regular"), ("DejaVuSansCondensed-Bold", "bold")]:
    write(TTFont(pathlib.Path(sys.argv[1]) / f"{style}.ttf"), here / f"{name}.txt")
