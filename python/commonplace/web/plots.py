"""Plots as inline SVG: bars and points in the colours of the stylesheet.

By hand, for want of a library that fits: pygal is LGPL, matplotlib and plotly are larger than all
of this page, and leather writes fixed colours in `style` attributes, which the content security
policy forbids and the dark theme cannot change. Here every colour is a class.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

WIDTH, HEIGHT, FOOT, HEAD = 640, 160, 22, 12


def bars(title: str, values: Sequence[tuple[str, float]], unit: str = "") -> Markup:
    """Return a bar for each value, with its label and its value as a tooltip.

    Args:
        title: What is shown, for who cannot see it.
        values: Labels and values, in order; labels of every some are written below.
        unit: Written behind the largest value.

    >>> "<rect" in bars("Messages by month", [("2026-01", 3), ("2026-02", 5)])
    True
    """
    most = max((value for _, value in values), default=0) or 1
    step = WIDTH / max(len(values), 12)
    parts = [_axis(most, unit)]
    every = max(1, -(-len(values) * 60 // WIDTH))
    for number, (label, value) in enumerate(values):
        height = (HEIGHT - HEAD) * value / most
        x, y = number * step, HEIGHT - height
        tip = Markup("<title>{}: {}{}</title>").format(label, _short(value), unit)
        parts.append(
            Markup(
                '<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">{}</rect>'
            ).format(x + step * 0.1, y, max(step * 0.8, 0.5), max(height, 0.5), tip)
        )
        if number % every == 0:
            parts.append(
                Markup('<text x="{:.1f}" y="{}">{}</text>').format(x, HEIGHT + FOOT - 6, label)
            )
    return _plot(title, parts)


def points(title: str, values: Sequence[float], unit: str = "") -> Markup:
    """Return a point for each value, in order, with a line at the value that 95 % are below.

    >>> points("Times", [1.0, 2.0], " ms").count("<circle")
    2
    """
    most = max(values, default=0) or 1
    step = WIDTH / max(len(values), 1)
    parts = [_axis(most, unit)]
    for number, value in enumerate(values):
        y = HEIGHT - (HEIGHT - HEAD) * value / most
        parts.append(
            Markup('<circle class="point" cx="{:.1f}" cy="{:.1f}" r="2.5"/>').format(
                (number + 0.5) * step, y
            )
        )
    if values:
        y = HEIGHT - (HEIGHT - HEAD) * quantile(values, 0.95) / most
        parts.append(
            Markup('<line class="limit" x1="0" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(
                WIDTH, y, y
            )
        )
    return _plot(title, parts)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values lie; 0 for none.

    >>> quantile([3.0, 1.0, 2.0], 0.5)
    2.0
    """
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else 0.0


def _axis(most: float, unit: str) -> Markup:
    return Markup(
        '<line class="axis" x1="0" x2="{}" y1="{}" y2="{}"/><text x="0" y="9">{}{}</text>'
    ).format(WIDTH, HEIGHT, HEIGHT, _short(most), unit)


def _plot(title: str, parts: Sequence[Markup]) -> Markup:
    return Markup(
        '<svg class="plot" role="img" aria-label="{}" viewBox="0 0 {} {}">{}</svg>'
    ).format(title, WIDTH, HEIGHT + FOOT, Markup("").join(parts))


def _short(value: float) -> str:
    """Return a number in few characters.

    >>> _short(12_345), _short(2_000_000), _short(0.25)
    ('12.3k', '2M', '0.25')
    """
    for size, letter in ((1_000_000, "M"), (1000, "k")):
        if value >= size:
            return f"{value / size:.1f}".removesuffix(".0") + letter
    return str(escape(f"{value:.2f}".rstrip("0").rstrip(".") or "0"))
