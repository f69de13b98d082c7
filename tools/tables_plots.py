#!/usr/bin/env python3
"""Draws the pictures of docs/tables.md from the answers that the page shows: tables_plots.py [--out FOLDER]

Below each question, a comment of the page states the picture: its name, "bars" or "lines", the columns
of x and y, and if wanted a third one: for bars the half height of a range, for lines the name of each.
"""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/tables.md"
PICTURE = re.compile(
    r"^\$ smdebug query .*\n(?P<table>(?:(?!```).*\n)*)```\n(?:(?!\$ |###).*\n)*?"
    r"<!-- plot: (?P<name>\w+) (?P<kind>bars|lines) (?P<columns>[\w ]+) -->",
    re.MULTILINE,
)
WIDTH, HEIGHT = 560, 240
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 14, 54
COLOURS = ("#2563a8", "#c2562b", "#2f855a", "#6b46a0")


def rows_of(table: str) -> list[dict[str, str]]:
    titles, *lines = [re.split(r" {2,}", line.strip()) for line in table.strip("\n").splitlines()]
    return [dict(zip([title.lower() for title in titles], line, strict=True)) for line in lines]


def ticks(least: float, most: float) -> list[float]:
    """Returns about four round numbers."""
    rough = (most - least) / 4 or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first = math.ceil(least / step - 1e-9)
    return [step * i for i in range(first, math.floor(most / step + 1e-9) + 1)]


class Picture:
    """A chart with axes, as SVG."""

    def __init__(self, x: str, y: str, least: float, most: float) -> None:
        self.least, self.most = least, most
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            'font-family="sans-serif" font-size="11">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        ]
        for tick in ticks(least, most):
            at = self.y(tick)
            self.parts.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
            self.text(LEFT - 6, at + 4, f"{tick:g}", "end")
        self.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, x, "middle", "#555")
        middle = (TOP + HEIGHT - BOTTOM) / 2
        self.parts.append(
            f'<text x="12" y="{middle:.0f}" text-anchor="middle" fill="#555" transform="rotate(-90 12 {middle:.0f})">{y}</text>'
        )

    def y(self, value: float) -> float:
        share = (value - self.least) / (self.most - self.least)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def text(self, x: float, y: float, text: str, anchor: str = "start", fill: str = "#222") -> None:
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">{text}</text>')

    def line(self, points: list[tuple[float, float]], colour: str) -> None:
        path = "L".join(f"{x:.1f} {self.y(y):.1f}" for x, y in points)
        self.parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for x, y in points:
            self.parts.append(f'<circle cx="{x:.1f}" cy="{self.y(y):.1f}" r="3" fill="{colour}"/>')

    def svg(self) -> str:
        axis = f'<path d="M{LEFT} {self.y(max(self.least, 0)):.1f}H{WIDTH - RIGHT}" stroke="#555"/>'
        return "\n".join([*self.parts, axis, "</svg>"]) + "\n"


def bars(rows: list[dict[str, str]], x: str, y: str, half: str | None) -> str:
    values = [float(row[y]) for row in rows]
    ranges = [float(row[half]) if half else 0.0 for row in rows]
    picture = Picture(x, y, 0.0, 1.08 * max(v + r for v, r in zip(values, ranges, strict=True)))
    room = (WIDTH - LEFT - RIGHT) / len(rows)
    for i, (row, value, extent) in enumerate(zip(rows, values, ranges, strict=True)):
        left, middle = LEFT + room * (i + 0.2), LEFT + room * (i + 0.5)
        top, bottom = picture.y(value), picture.y(0)
        picture.parts.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{room * 0.6:.1f}" height="{bottom - top:.1f}" fill="{COLOURS[0]}"/>'
        )
        if half:
            high, low = picture.y(value + extent), picture.y(value - extent)
            picture.parts.append(f'<path d="M{middle:.1f} {high:.1f}V{low:.1f}" stroke="#222" stroke-width="2"/>')
        # A path is too long for one line.
        for number, part in enumerate(row[x].split("/")):
            picture.text(middle, HEIGHT - BOTTOM + 15 + 13 * number, part, "middle")
    return picture.svg()


def lines(rows: list[dict[str, str]], x: str, y: str, name: str | None) -> str:
    series: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        series.setdefault(row[name] if name else y, []).append((float(row[x]), float(row[y])))
    steps = [point[0] for points in series.values() for point in points]
    most = max(point[1] for points in series.values() for point in points)
    picture = Picture(x, y, 0.0, 1.08 * most)
    first, last = min(steps), max(steps)

    def across(step: float) -> float:
        return LEFT + 8 + (step - first) / (last - first) * (WIDTH - LEFT - RIGHT - 16)

    for tick in ticks(first, last):
        picture.text(across(tick), HEIGHT - BOTTOM + 15, f"{tick:g}", "middle")
    for i, (title, points) in enumerate(series.items()):
        picture.line([(across(step), value) for step, value in points], COLOURS[i % len(COLOURS)])
        if name:
            picture.text(WIDTH - RIGHT - 4, TOP + 14 + 15 * i, title, "end", COLOURS[i % len(COLOURS)])
    return picture.svg()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/tables")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for match in PICTURE.finditer(PAGE.read_text(encoding="utf-8")):
        x, y, *more = match["columns"].split()
        draw = bars if match["kind"] == "bars" else lines
        svg = draw(rows_of(match["table"]), x, y, more[0] if more else None)
        (out / f"{match['name']}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
