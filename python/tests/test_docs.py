"""The code of the documentation is that of whole samples, which run."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import List

PYTHON = Path(__file__).parent.parent
PAGES = [PYTHON / "README.md", PYTHON.parent / "docs/languages/python.md"]


def lines(text: str) -> str:
    """Without indentation, which a page takes away in part."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


def test_every_block_is_a_whole_sample() -> None:
    samples = [lines(path.read_text()) for path in (PYTHON / "samples").glob("*.py")]
    blocks: List[str] = []
    for page in PAGES:
        blocks += re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    assert len(blocks) >= 3
    for block in blocks:
        block = textwrap.dedent(block)
        compile(block, "page", "exec")
        assert lines(block) in samples, block
