"""The Markdown of a whole outline at once; jpweb writes it in pieces."""

from __future__ import annotations

from jpweb.stream.markdown.escaping import Block
from jpweb.stream.markdown.export import BLOCK_SEPARATOR, MarkdownOptions, MarkdownWriter
from jpweb.stream.outline import Outline


def export_markdown(outline: Outline, options: MarkdownOptions | None = None) -> str:
    """Return the Markdown of an outline. Its last line counts the parts left out."""
    writer = MarkdownWriter(options or MarkdownOptions())
    blocks: list[Block] = list(writer.write_title())
    for turn in outline.turns:
        blocks += writer.write_turn(turn.index, is_incomplete=turn.is_incomplete)
        for item in turn.items:
            blocks += writer.write_item(item)
    return BLOCK_SEPARATOR.join(map(str, [*blocks, *writer.write_left_out()])) + "\n"
