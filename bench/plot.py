"""A plot of lines on logarithmic axes, as SVG."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

Points = Sequence[tuple[float, float]]

_WIDTH: Final = 300
_HEIGHT: Final = 210
_LEFT: Final = 52
_TOP: Final = 34
_GAP: Final = 90
_COLOURS: Final = ("#c2410c", "#475569", "#94a3b8", "#2563eb", "#7c3aed", "#059669", "#db2777")


def panels(charts: Sequence[tuple[str, str, str, Mapping[str, Points]]]) -> str:
    """Return an SVG image of charts side by side.

    Args:
        charts: Of each the title, the names of its axes, and lines by name. A name has the same colour everywhere.
    """
    names = list(dict.fromkeys(name for *_, lines in charts for name in lines))
    colours = {name: _COLOURS[index % len(_COLOURS)] for index, name in enumerate(names)}
    width = len(charts) * (_WIDTH + _GAP)
    height = _TOP + _HEIGHT + 70
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"',
        ' font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for index, chart in enumerate(charts):
        parts += [
            f'<g transform="translate({_LEFT + index * (_WIDTH + _GAP)},{_TOP})">',
            *_chart(*chart, colours),
            "</g>",
        ]
    for index, name in enumerate(names):
        x = _LEFT + index * 130
        parts.append(f'<rect x="{x}" y="{height - 18}" width="12" height="4" fill="{colours[name]}"/>')
        parts.append(f'<text x="{x + 17}" y="{height - 12}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _chart(title: str, across: str, up: str, lines: Mapping[str, Points], colours: Mapping[str, str]) -> list[str]:
    points = [point for line in lines.values() for point in line]
    x, x_ticks = _axis([point[0] for point in points], _WIDTH)
    y, y_ticks = _axis([point[1] for point in points], -_HEIGHT, _HEIGHT)
    parts = [f'<text x="0" y="-14" font-weight="bold">{title}</text>']
    for tick in x_ticks:
        at = x(tick)
        parts.append(f'<line x1="{at:.1f}" y1="0" x2="{at:.1f}" y2="{_HEIGHT}" stroke="#e5e7eb"/>')
        parts.append(f'<text x="{at:.1f}" y="{_HEIGHT + 14}" text-anchor="middle">{_short(tick)}</text>')
    for tick in y_ticks:
        at = y(tick)
        parts.append(f'<line x1="0" y1="{at:.1f}" x2="{_WIDTH}" y2="{at:.1f}" stroke="#e5e7eb"/>')
        parts.append(f'<text x="-5" y="{at + 4:.1f}" text-anchor="end">{_short(tick)}</text>')
    parts.append(f'<text x="{_WIDTH}" y="{_HEIGHT + 28}" text-anchor="end" fill="#6b7280">{across}</text>')
    parts.append(f'<text x="0" y="-2" fill="#6b7280">{up}</text>')
    for name, line in lines.items():
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="2"/>')
    return parts


def _axis(values: Sequence[float], length: float, start: float = 0.0) -> tuple[Callable[[float], float], list[float]]:
    """Return where a value lies, and the powers of ten within."""
    low, high = math.log10(min(values)), math.log10(max(values))
    low, high = low - 0.05 * (high - low or 1), high + 0.05 * (high - low or 1)
    ticks = [10.0**power for power in range(math.ceil(low), math.floor(high) + 1)]
    return (lambda value: start + length * (math.log10(value) - low) / (high - low)), ticks


def _short(value: float) -> str:
    for limit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:g}{letter}"
    return f"{value:g}"
