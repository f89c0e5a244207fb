"""Tables of expressions: every row is used, every name that the code asks for is there, and every expression compiles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nacre.text.tables import texts, words

SOURCE = Path(__file__).parents[2] / "src" / "nacre"
READERS = {
    "guard/forms.tsv": ("values", "assignments", "prose", "said", "secrets"),
    "guard/privacy.tsv": ("privacy",),
    "text/quoting.tsv": ("quoting",),
    "text/words.tsv": ("keywords", "names"),
    "sources/openclaw.tsv": ("openclaw",),
}
CALLS = r'\b_?(?:form|has|is|listed|any_of)\(f?"([^"]+)"|words\(_TABLE, "([^"]+)"\)'


def code_of(table: str) -> str:
    folder = (SOURCE / table).parent
    return "\n".join((folder / f"{name}.py").read_text(encoding="utf-8") for name in READERS[table])


def test_a_row_goes_on_in_the_next_and_holds_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("nacre.text.tables._ROOT", tmp_path)
    (tmp_path / "x.tsv").write_text("# of what\nfruit\tfig\n\t|plum\nmany\t(?:⟨fruit⟩)s\nlist\ta b\n", "utf-8")
    assert texts("x.tsv")["many"] == "(?:fig|plum)s"
    assert words("x.tsv", "list") == {"a", "b"}


@pytest.mark.parametrize("table", READERS)
def test_every_row_is_read_and_every_name_has_one(table: str) -> None:
    code, rows = code_of(table), texts(table)
    asked = {name for match in re.findall(CALLS, code) for name in match if name and "{" not in name}
    assert asked <= rows.keys()
    inside = set(re.findall("⟨([^⟩]+)⟩", (SOURCE / table).read_text(encoding="utf-8")))
    made = {f"{language} {what}" for language in ("de", "fr", "es", "ja", "ko") for what in ("asks", "otherwise")}
    made |= {f"spoken {what}" for what in ("end", "spaced", "value")}
    assert not [name for name in rows if f'"{name}"' not in code and name not in inside | made]


@pytest.mark.parametrize("table", READERS)
def test_every_expression_compiles(table: str) -> None:
    for text in texts(table).values():
        re.compile(text)
