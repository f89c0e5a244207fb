"""What users, scripts and agents see, compared to the letter with what was recorded; see story.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.blackbox.story import STORIES, run_story


@pytest.mark.parametrize("path", sorted(STORIES.glob("*.txt")), ids=lambda path: path.stem)
def test_a_recorded_story_is_told_again_to_the_letter(path: Path) -> None:
    recorded = path.read_text(encoding="utf-8")
    assert run_story(recorded).splitlines() == recorded.splitlines()
