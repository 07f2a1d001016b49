"""Common user questions, collected in advance, and the passages of the documentation that answer them."""

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
ANSWERS = {
    "How is a TFLite model planned whose batch is dynamic?": ("systems.md", "a dynamic batch, is `--dim image.0=8`"),
    "How does a tensor stay in one memory, without an offset?": ("plan.md", "A tensor in one memory, at any offset"),
    "How much heap does memplan_choose take?": ("core.md", "The heap of `memplan_choose`"),
    "How does the solution of a .lp come back as a plan?": ("integer-program.md", "A solution back."),
    "What does `order` do with custom operators?": ("order.md", "## Custom operators"),
    "How does a buffer stay out of a memory that DMA does not reach?": ("formats.md", "`forbid_pools`"),
    "How do two buffers stay apart although they are never alive together?": ("plan.md", "**forbid** two buffers"),
    "How do I install it on a machine without a network?": ("builds.md", "**Without a network**"),
    "How do I keep it to one thread?": ("reference.md", "`--threads N`"),
    "How do I get offsets alone?": ("formats.md", "a list of `[id, pool, offset]`"),
    "May several threads call memplan_plan at once?": ("core.md", "threads may call at the same time"),
    "How do I plan ping-pong buffers?": ("plan.md", "several copies of a buffer, for DMA"),
    "How do I keep the first KiB of a memory for a boot loader?": ("plan.md", "keep a range of a pool free"),
    "How do I replace a key while callers use it?": ("operations.md", "replace a key, add one with a new name"),
    "Which exit status has a search without any plan?": ("getting-started.md", "the exit status is 1"),
}


@pytest.mark.parametrize("question", ANSWERS)
def test_the_documentation_answers_common_questions(question: str) -> None:
    page, words = ANSWERS[question]
    assert words in " ".join((DOCS / page).read_text(encoding="utf-8").split())
