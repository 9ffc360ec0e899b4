#!/usr/bin/env python3
"""Converts the terminal output of a program to an SVG image for the docs.

    python3 scripts/terminal_picture.py docs/images/machine.svg build/release/bin/pellucid machine

The program runs in a pseudo-terminal, so it prints colours; they and bold and dim text are preserved. Braille and blocks
are drawn as shapes, because fonts differ in them. Every character has an explicit position in its column.
"""
import os
import re
import shlex
import sys
import unicodedata
from pathlib import Path
from xml.sax.saxutils import escape

from pseudo_terminal import run_at_terminal

CHARACTER, LINE, MARGIN, TITLE = 8.4, 18, 16, 30  # pixels
BACKGROUND, FRAME, TEXT, DIM = "#0d1117", "#21262d", "#e6edf3", "#8b949e"
COLOURS = {31: "#ff7b72", 32: "#3fb950", 33: "#d29922", 34: "#58a6ff", 35: "#bc8cff", 36: "#39c5cf"}
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")
LEFT_EIGHTHS = {chr(0x2588 + i): (8 - i) / 8 for i in range(8)}  # █ ▉ ▊ ▋ ▌ ▍ ▎ ▏
BLOCKS = re.compile(f"[{''.join(LEFT_EIGHTHS)}]+")
# The column and row of each of the eight bits of a Braille character.
DOTS = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)]


def printed(command):
    """Returns the output of the command, with its escape codes."""
    environment = {name: text for name, text in os.environ.items() if name != "NO_COLOR"}
    code, output = run_at_terminal(command, environment)
    if code:
        sys.exit(f"{shlex.join(command)}: exit code {code}")
    return output


def runs(line, style):
    """Yields (text, style) for the pieces between escape codes. A style is a set of codes that persists between lines."""
    at = 0
    for code in ESCAPE.finditer(line):
        if code.start() > at:
            yield line[at:code.start()], frozenset(style)
        at = code.end()
        for number in (int(part or 0) for part in code[1].split(";")):
            style.clear() if number == 0 else style.add(number)
    if at < len(line):
        yield line[at:], frozenset(style)


def colour_of(style):
    colours = [COLOURS[code] for code in style if code in COLOURS]
    return colours[0] if colours else DIM if 2 in style else TEXT


def bar(blocks, x, y, colour):
    """Draws adjacent blocks as one shape: several would show seams."""
    width = sum(LEFT_EIGHTHS[block] for block in blocks) * CHARACTER
    return f'<rect x="{x:.1f}" y="{y + 3}" width="{width:.1f}" height="{LINE - 6}" fill="{colour}"/>'


def dots(character, x, y, colour):
    bits = ord(character) - 0x2800
    return "".join(f'<circle cx="{x + CHARACTER * (0.25 + 0.5 * column):.1f}" cy="{y + LINE * (row + 0.5) / 4:.1f}" '
                   f'r="1.1" fill="{colour}"/>' for bit, (column, row) in enumerate(DOTS) if bits >> bit & 1)


def drawn_run(text, style, column, y):
    """Draws the run as one text element with a position for each character, and shapes."""
    colour, shapes, letters, positions = colour_of(style), [], "", []
    for blocks in BLOCKS.finditer(text):
        shapes.append(bar(blocks[0], MARGIN + (column + blocks.start()) * CHARACTER, y, colour))
    for offset, character in enumerate(text):
        x = MARGIN + (column + offset) * CHARACTER
        if "\u2800" < character <= "\u28ff":
            shapes.append(dots(character, x, y, colour))
        elif character != " " and character not in LEFT_EIGHTHS:
            letters += character
            positions.append(f"{x:.1f}".removesuffix(".0"))
    if letters:
        bold = ' font-weight="bold"' if 1 in style else ""
        shapes.append(f'<text x="{" ".join(positions)}" y="{y + LINE - 5}" fill="{colour}"{bold}>{escape(letters)}</text>')
    return "".join(shapes)


def picture(title, text):
    lines = text.rstrip("\n").split("\n")
    columns = max(len(ESCAPE.sub("", line)) for line in lines + [title])
    assert not any(unicodedata.east_asian_width(c) in "WF" for c in text), "wide characters take two columns"
    width, height = round(columns * CHARACTER + 2 * MARGIN), TITLE + len(lines) * LINE + 2 * MARGIN
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'font-family="ui-monospace,\'DejaVu Sans Mono\',Menlo,Consolas,monospace" font-size="14">',
           f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>',
           f'<path d="M0 {TITLE}V8a8 8 0 0 1 8-8H{width - 8}a8 8 0 0 1 8 8V{TITLE}z" fill="{FRAME}"/>',
           f'<text x="{MARGIN}" y="20" fill="{DIM}">{escape(title)}</text>']
    style = set()
    for number, line in enumerate(lines):
        column, y = 0, TITLE + MARGIN + number * LINE
        for piece, codes in runs(line, style):
            svg.append(drawn_run(piece, codes, column, y))
            column += len(piece)
    return "\n".join(part for part in svg if part) + "\n</svg>\n"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    path, command = Path(sys.argv[1]), sys.argv[2:]
    title = "$ " + shlex.join([Path(command[0]).name, *command[1:]])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(picture(title, printed(command)), encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
