"""Cuts the long texts of an export, so that no piece takes long to write or to render.

``cut_markdown`` changes nothing of the file. The pieces of ``cut_sections`` are rendered each by
itself: a quote or a fence that goes on is closed and opened again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from jpweb.runtime.rendering import code_fences, text_chunks
from jpweb.stream.markdown import escaping
from jpweb.stream.markdown.escaping import Block, LongText
from jpweb.stream.markdown.export import BLOCK_SEPARATOR

_LINE_END = re.compile(r"\r\n|\r|\n")
_BACKTICKS = re.compile("`+")


def cut_markdown(block: Block) -> Iterator[str]:
    """Yield the pieces of a block; joined they are its text."""
    if isinstance(block, str):
        yield block
    elif block.is_fenced:
        yield from _cut_fence(block)
    else:
        yield from _cut_quote(block.text)


def cut_sections(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield texts of bounded length, each to be rendered by itself."""
    section: list[str] = []
    char_count = 0
    for block in blocks:
        for text in _cut_block(block):
            if section and char_count + len(text) > escaping.MAX_BLOCK_CHARS:
                yield BLOCK_SEPARATOR.join(section)
                section, char_count = [], 0
            section.append(text)
            char_count += len(text)
    if section:
        yield BLOCK_SEPARATOR.join(section)


def _cut_block(block: Block) -> Iterator[str]:
    max_chars = escaping.MAX_BLOCK_CHARS
    if isinstance(block, str):
        yield block
    elif block.is_fenced:
        for chunk in text_chunks.split_text(block.text, max_chars):
            yield escaping.fence_text(chunk.removesuffix("\n"), block.language)
    else:
        for chunk in code_fences.split_markdown(block.text, max_chars):
            yield escaping.quote_text(chunk.removesuffix("\n"))


def _cut_fence(block: LongText) -> Iterator[str]:
    fence = escaping.make_fence(_find_longest_backticks(block.text))
    yield f"{fence}{block.language}\n"
    yield from text_chunks.split_text(block.text, escaping.MAX_BLOCK_CHARS)
    yield f"\n{fence}"


def _find_longest_backticks(text: str) -> int:
    """Return the length of the longest run, which may reach over several chunks."""
    longest_run = open_run = 0
    for chunk in text_chunks.split_text(text, escaping.MAX_BLOCK_CHARS):
        runs = [(run.start(), run.end()) for run in _BACKTICKS.finditer(chunk)]
        if runs and runs[0][0] == 0:
            runs[0] = (-open_run, runs[0][1])
        longest_run = max(longest_run, *(end - start for start, end in runs), 0)
        open_run = runs[-1][1] - runs[-1][0] if runs and runs[-1][1] == len(chunk) else 0
    return longest_run


def _cut_quote(text: str) -> Iterator[str]:
    """Yield the pieces of a quote; a line that goes on has one mark."""
    is_line_begun, carriage_return = False, ""
    for chunk in text_chunks.split_text(text, escaping.MAX_BLOCK_CHARS):
        piece = carriage_return + chunk
        carriage_return = "\r" if piece.endswith("\r") else ""  # it may belong to a CRLF
        lines = _LINE_END.split(piece.removesuffix(carriage_return))
        yield _quote_lines(lines, is_line_begun=is_line_begun)
        is_line_begun = bool(lines[-1]) or (len(lines) == 1 and is_line_begun)
    if carriage_return:
        yield _quote_lines(["", ""], is_line_begun=is_line_begun)
        is_line_begun = False
    if not is_line_begun:
        yield ">"


def _quote_lines(lines: list[str], *, is_line_begun: bool) -> str:
    """Return quoted lines; the mark of an empty last one is left to what follows."""
    *complete_lines, last_line = lines
    marked_lines = [f"> {line}" if line else ">" for line in complete_lines]
    marked_lines.append(f"> {last_line}" if last_line else "")
    if is_line_begun:
        marked_lines[0] = lines[0]
    return "\n".join(marked_lines)
