"""The picture: how many times ours the peers' figures are, as bars on a logarithmic scale."""

import math
from html import escape

from table import show_ratio

WIDTH, LABELS, RIGHT = 1090, 480, 160
TOP, STEP, BAR = 64, 26, 14
COLOURS = {
    "gpustat": ("#2a6fb0", "#6cb0ee"),
    "nvitop": ("#7b4fa3", "#b891dd"),
    "GPUtil": ("#8a6d1f", "#d6b554"),
    "Python gua": ("#1d7a5f", "#56c2a0"),
    "gpu_tracker": ("#b3502a", "#f0946c"),
}
OTHER = ("#555555", "#bbbbbb")

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .quiet { fill: #59636e; font-size: 12px; }
  .title { font-size: 15px; font-weight: 600; }
  .ground { fill: #ffffff; stroke: #d1d9e0; }
  .line { stroke: #d1d9e0; }
  .one { stroke: #59636e; }
  .value { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; }
"""
DARK = """
    text { fill: #f0f6fc; }
    .quiet { fill: #9198a1; }
    .ground { fill: #0d1117; stroke: #3d444d; }
    .line { stroke: #3d444d; }
    .one { stroke: #9198a1; }
    .value { stroke: #0d1117; }
"""


def family(peer):
    """The peer's name without what it was told to do."""
    return next((name for name in COLOURS if peer.startswith(name)), peer)


def colour_class(peer):
    names = list(COLOURS)
    return f"c{names.index(family(peer))}" if family(peer) in names else "other"


def style():
    """Light, and dark where the reader prefers that; the ground is its own in either."""
    pairs = [(f"c{place}", pair) for place, pair in enumerate(COLOURS.values())] + [
        ("other", OTHER)
    ]
    light = "".join(f"  .{name} {{ fill: {pair[0]}; }}\n" for name, pair in pairs)
    dark = "".join(f"    .{name} {{ fill: {pair[1]}; }}\n" for name, pair in pairs)
    return (
        f"<style>{STYLE}{light}  @media (prefers-color-scheme: dark) {{{DARK}{dark}  }}\n</style>"
    )


class Scale:
    """From ratios to places, by powers of ten that hold them all; one is always among them."""

    def __init__(self, ratios):
        self.low = min(0, math.floor(math.log10(min(ratios, default=1))))
        self.high = max(1, math.ceil(math.log10(max(ratios, default=10))))

    def powers(self):
        return range(self.low, self.high + 1)

    def at(self, ratio):
        part = (math.log10(ratio) - self.low) / (self.high - self.low)
        return LABELS + part * (WIDTH - LABELS - RIGHT)


def grid_lines(scale, bottom):
    for power in scale.powers():
        at = scale.at(10**power)
        kind = "one" if power == 0 else "line"
        yield f'<line class="{kind}" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 8}" y2="{bottom}"/>'
        told = f"{10**power:,} ×" if power >= 0 else f"1/{10**-power:,}"
        place = f'x="{at:.1f}" y="{bottom + 16}" text-anchor="middle"'
        yield f'<text class="quiet" {place}>{told}</text>'


def bar(row, place, scale):
    """One row: what it is, whose figure, and how far from ours."""
    ratio, top = row.ratio(), TOP + place * STEP
    begin, end = sorted((scale.at(1), scale.at(ratio)))
    label = row.what.replace("`", "")
    return [
        f'<text x="{LABELS - 10}" y="{top + 11}" text-anchor="end">{escape(label)}</text>',
        f'<rect class="{colour_class(row.peer)}" x="{begin:.1f}" y="{top}" rx="2" '
        f'width="{max(end - begin, 1):.1f}" height="{BAR}">'
        f"<title>{escape(label)}: gua {escape(row.told(row.ours))}, "
        f"{escape(row.peer)} {escape(row.told(row.theirs))}</title></rect>",
        f'<text class="quiet value" x="{end + 6:.1f}" y="{top + 11}">'
        f"{escape(family(row.peer))}, {show_ratio(ratio)} ×</text>",
    ]


def legend(rows):
    """Each peer with its colour, in the order in which they come."""
    at = 16
    for peer in dict.fromkeys(family(row.peer) for row in rows):
        yield f'<rect class="{colour_class(peer)}" x="{at}" y="34" width="12" height="12" rx="2"/>'
        yield f'<text class="quiet" x="{at + 18}" y="44">{escape(peer)}</text>'
        at += 18 + 8 * len(peer) + 18


def svg(rows, about):
    """All of it. Whose figure it is, is told by colour and by name."""
    scale = Scale([row.ratio() for row in rows])
    bottom = TOP + len(rows) * STEP
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 52}" '
        f'width="{WIDTH}" height="{bottom + 52}" role="img">',
        "<title>How many times gua's figure the peer's is</title>",
        style(),
        f'<rect class="ground" x="0.5" y="0.5" width="{WIDTH - 1}" height="{bottom + 51}" rx="8"/>',
        '<text class="title" x="16" y="24">How many times gua’s figure the peer’s is '
        "(logarithmic; longer is better for gua)</text>",
        *legend(rows),
        *grid_lines(scale, bottom),
        *(line for place, row in enumerate(rows) for line in bar(row, place, scale)),
        f'<text class="quiet" x="16" y="{bottom + 40}">{escape(about)}</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
