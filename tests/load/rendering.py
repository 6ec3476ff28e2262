"""How long Markdown takes that is shown for the first time, beside the libraries that make it.

The floor is comrak and nh3 with the same options and nothing around them.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import comrak

from jpweb.runtime.rendering import markdown as renderer
from jpweb.stream import wire
from jpweb.stream.events import ChatRequest, ChatResponse
from tests.load.benchmark import BenchRun, Progress, measure_interleaved
from tests.load.importing import find_workspace

MEGABYTE = 1_000_000


def measure_markdown(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds that a megabyte of real messages takes, and those of the floor."""
    texts = messages(bench)
    size = sum(len(text.encode()) for text in texts) / MEGABYTE
    value, floor = measure_interleaved(
        bench,
        lambda: _timed(renderer.render_markdown, texts),
        lambda: _timed(_bare, texts),
        progress,
    )
    return value / size * 1000, floor / size * 1000


def messages(bench: BenchRun) -> list[str]:
    """Return what was said in the conversations at hand, repeated to the size of the run."""
    texts: list[str] = []
    workspace = find_workspace(bench)
    for path in sorted((workspace / ".jp" / "conversations").glob("*/events.json")):
        for raw in wire.split_array(path.read_bytes()):
            for event in wire.read_element(raw).events:
                match event.kind:
                    case ChatRequest(content=text) | ChatResponse(content=str(text)):
                        texts.append(text)
                    case _:
                        pass
    if not texts:
        raise SystemExit(f"No message in {workspace}: name another in JPWEB_BENCH_WORKSPACE")
    return texts * (bench.size.rendered_characters // sum(map(len, texts)) + 1)


def _timed(make: Callable[[str], object], texts: list[str]) -> float:
    start = perf_counter()
    for text in texts:
        make(text)
    return perf_counter() - start


def _bare(text: str) -> str:
    options = (renderer.EXTENSIONS, None, renderer.RENDER_OPTIONS)
    html: str = renderer.CLEANER.clean(comrak.markdown_to_html(text, *options))
    return html
