from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.embed.models import scripts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The deploy runs on Tuesdays.", ("Latin",)),
        ("每周二部署上线", ("Han",)),
        ("デプロイは毎週火曜日に行う", ("Han",)),
        ("Деплой каждый вторник", ("Latin",)),
        ("배포는 매주 화요일에 합니다", ("Latin",)),
        ("13800138000", ("Latin",)),
        ("", ()),
        ("… — !!! 🎉", ()),
        ("。。。「」", ()),
        ("图片都存到 MinIO,不再放本地磁盘。", ("Han",)),
        ("Ms. 陈晓琳 runs the Shanghai office and signs off on every vendor contract.", ("Latin",)),
        ("CI 从 Jenkins 搬到了 GitHub Actions。", ("Latin", "Han")),
        ("redis 会丢数据吗", ("Han", "Latin")),
        ("文档在 https://example.com/a/very/long/path/to/the/page.html?x=1&y=2 这个地址,请大家都去看看", ("Han",)),
    ],
)
def test_a_text_belongs_to_the_scripts_that_have_a_real_share_in_it(text: str, found: tuple[str, ...]) -> None:
    assert scripts(text) == found


@given(st.text())
def test_a_text_has_a_script_exactly_when_it_has_letters_or_digits_or_characters(text: str) -> None:
    found = scripts(text)
    assert len(set(found)) == len(found)
    if any(character.isalnum() for character in text):
        assert found
