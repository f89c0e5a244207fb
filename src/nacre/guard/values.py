"""A secret in a text, the rules that find one (`rules.tsv`), and whether a value can be one."""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from math import log2
from pathlib import Path

from nacre.text.tables import expression, texts, words


@dataclass(frozen=True)
class Finding:
    """A secret in the original text, from `start` up to `end`: its kind and place, never its value."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class Redaction:
    """The text without its secrets, and where they stood."""

    text: str
    findings: tuple[Finding, ...]


Findings = Iterator[Finding]


# Expressions are compiled when they are first needed, so that importing the guard costs nothing.
pattern = cache(re.compile)
form = partial(expression, "guard/forms.tsv")
listed = partial(words, "guard/forms.tsv")

LONG_RUN = r"(?<![A-Za-z0-9_])[A-Za-z0-9_-]{15,}"  # in which whatever a machine makes is found


@cache
def _rules() -> list[str]:
    """The lines of rules.tsv."""
    table = Path(__file__).with_name("rules.tsv").read_text(encoding="utf-8")
    return table.replace("VALUE", texts("guard/forms.tsv")["argument"]).split("\n")


@cache
def rule_rows(section: str) -> list[tuple[str, str, str]]:
    """The rules of a section: kind, hint and expression of each."""
    rows = (line.split("\t") for line in _rules() if line.startswith(f"{section}\t"))
    return [(kind, *pair) for _, kind, *rest in rows for pair in zip(rest[::2], rest[1::2], strict=True)]


@cache
def _hinted_rules(section: str) -> list[tuple[str, list[str], bool, re.Pattern[str]]]:
    """The rules of a section with their hints, each written as its expression reads the text: in small letters or as it is."""
    return [(kind, hint.split("|"), "(?i" in rule, pattern(rule)) for kind, hint, rule in rule_rows(section)]


def apply_rules(
    section: str,
    text: str,
    accepts: Callable[[str], bool] = lambda _: True,
    lower: str | None = None,
    *,
    ends: str = "",
) -> Findings:
    """What the rules of a section find in a text, or in its lower-cased form of the same length; `ends` are cut off a value."""
    searched = text if lower is None else lower
    small = searched.lower() if lower is None else lower
    for kind, hints, is_small, rule in _hinted_rules(section):
        hinted = small if is_small else searched
        for match in rule.finditer(searched) if any(map(hinted.__contains__, hints)) else ():
            begin, end = match.span(match.lastindex or 0)
            value = text[begin:end].rstrip(ends)
            if accepts(value):
                yield Finding(kind, begin, begin + len(value))


@cache
def any_of(*names: str) -> re.Pattern[str]:
    """One expression for the words of such lists (set apart by |), by their first letter so that few of them are tried at each place."""
    by_first: dict[str, list[str]] = {}
    for word in "|".join(texts("guard/forms.tsv")[name] for name in names).split("|"):
        by_first.setdefault(word[0], []).append(re.escape(word[1:]))
    return re.compile("|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in by_first.items()))


def _matches(expression: str, value: str) -> bool:
    return pattern(expression).search(value) is not None


def is_placeholder(value: str) -> bool:
    """Stands for a secret without being one: xxxx, <your-key>, ***, ${VAR}, changeme."""
    # What stands for a secret says so at once; reading on would make long values dear.
    value = value[:120]
    lower = value.lower().strip("\"'`.:")
    even = len(set(lower)) <= 2 and (not lower.isdigit() or set(lower) <= {"0", "1"})
    if lower in listed("not a secret") or even or lower.startswith("[redacted"):
        return True
    return form("placeholder parts").search(lower) is not None or is_reference(value)


def is_real(value: str) -> bool:
    return not is_placeholder(value)


def is_reference(value: str) -> bool:
    """Names where the secret is kept, as code and configuration do."""
    return _matches(
        r"""(?x)
            \$\{ | \{\{ | \$\( | %\( | \#\{ | <%                    # interpolation anywhere in it
            | ^\$+[A-Za-z_]\w*$ | ^%\w+%$ | ^\{\w*\}$ | ^%[sdvrq]$   # a variable
            | ^(?:process\.env|os\.environ|ENV\[|env\.|var\.|secrets?\.|vault:|op://|ssm:|arn:|ref\+|keyring:|file:)
            | ^[A-Za-z_][\w.]*[\[(]                                   # a call or an index
            | ^[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+(?<!\d\d)$    # an attribute
            | ^&[A-Za-z_]\w*$ | ^!(?:Ref|Sub|GetAtt|ImportValue|vault|secret|env|reference)\b | ^@[A-Za-z_]+$
            """,
        value,
    )


def is_path(value: str) -> bool:
    # Every twentieth key in base64 has slashes where a path would have them.
    if _is_long_base64(value) and changes(value.replace("/", "")) >= 0.4:
        return False
    path = r"^(?:~|\.{1,2})?/[\w.~-]|^[A-Za-z]:[\\/]|^[\w.-]+(?:/[\w.-]+){2,}$|^https?://|\.(?:pem|key|txt|json|ya?ml|toml|env|py|js|ts|md|crt|p12|log)$"
    return _matches(path, value)


def is_identifier(value: str) -> bool:
    """A name or a word, as code and prose have them: letters only, in one or more parts."""
    return _matches(r"^[A-Za-z][A-Za-z]*(?:[_\-.][A-Za-z]+)*$", value)


def is_slug(value: str) -> bool:
    """Words joined by hyphens, perhaps numbered: my-secret-2, v1.2.3, 2024-05-01."""
    slug = r"^[a-z]+(?:[-_./][a-z]+)*[-_.]?\d{0,3}$|^v?\d+(?:[.:/-]\d+)+\w*$|^[A-Z]+(?:_[A-Z]+)*(?:_?\d{1,2})?$|^[A-Za-z]+(?:\+\w{1,12})+$"
    return _matches(slug, value)


def entropy(value: str) -> float:
    size = len(value)
    return -sum(n / size * log2(n / size) for n in map(value.count, set(value))) if size else 0.0


def classes(value: str) -> int:
    """How many of lower case, upper case, digits and marks it holds."""
    return sum(_matches(one, value) for one in ("[a-z]", "[A-Z]", "[0-9]", r"[^A-Za-z0-9\s]"))


def is_hex(value: str) -> bool:
    return _matches(r"^(?:[0-9a-f]+|[0-9A-F]+)$", value)


def is_uuid(value: str) -> bool:
    return _matches(r"(?i)^[0-9a-f]{8}(?:-[0-9a-z]{4}){3}-[0-9a-z]{12}$", value)


_CLASS = {
    code: kind
    for first, count, kind in (("a", 26, "a"), ("A", 26, "A"), ("0", 10, "0"))
    for code in range(ord(first), ord(first) + count)
}


def changes(value: str) -> float:
    """How often neighbouring characters differ in class: about 0.6 in random text, below 0.35 in names."""
    return sum(a != b for a, b in pairwise(value.translate(_CLASS))) / max(len(value) - 1, 1)


def is_random(value: str, *, least: int = 16) -> bool:
    """Upper case, lower case and digits in no order that a name would have."""
    plain = pattern(r"[^A-Za-z0-9]").sub("", value)
    enough = len(plain) >= least and len(pattern(r"\d+").findall(plain)) >= 2 and classes(plain) == 3
    return enough and changes(plain) >= 0.4 and len(set(plain)) >= min(12, len(plain) // 2)


def is_made_up(body: str) -> bool:
    """The body of a vendor's token that somebody typed into a document: too even, or counting upwards."""
    body = body[:300]  # who makes one up does so from the start
    lower = body.lower()
    if len(body) < 10:
        return False
    if len(set(lower)) < 5 or _matches("example|sample|sampling|xxxxx|placeholder|your[-_]|changeme|redacted", lower):
        return True
    upwards = sum(ord(b) - ord(a) == 1 for a, b in pairwise(lower))
    return upwards * 2 > len(body) or ("123456789" in lower and ("abcdef" in lower or upwards * 3 > len(body)))


def is_basic(value: str) -> bool:
    """A name and a password in base64, as HTTP and registries carry them."""
    if len(value) < 12 or not _matches(r"^[A-Za-z0-9+/]+={0,2}$", value):
        return False
    try:
        plain = a2b_base64(value + "=" * (-len(value) % 4)).decode("ascii")
    except ValueError:
        return False
    return _matches(r"^[\w.@+-]{1,60}:[!-~]{4,200}$", plain) and not is_placeholder(plain.partition(":")[2])


def can_be_password(value: str, *, quoted: bool) -> bool:
    """A value that a person would have chosen as a password, after a name that says so."""
    if not 4 <= len(value) <= 200 or is_placeholder(value) or is_path(value):
        return False
    if " " in value:
        words = value.split()
        few = len(words) <= 5 and not listed("function words").intersection(value.lower().split())
        mixed = (word for word in words if _matches(r"[A-Za-z]\d|\d[A-Za-z]", word))
        return quoted and len(value) <= 60 and any(len(word) >= (3 if few else 6) for word in mixed)
    # Password123! and supersecret99 are passwords; user_password, passwordField and token2 are names.
    twisted = _matches(r"(?i)(?<!auth)\d{2,}$", value) or (classes(value) >= 3 and _matches(r"\d", value))
    named = form("name parts").search(value.lower()) and not twisted
    if named or (not _matches("[A-Za-z0-9]", value) and len(value) < 6) or any(ord(c) > 0x2E80 for c in value):
        return False
    return quoted or not value.startswith(("(", "[", "{", "<", "|", ">", "=", "//", "#", "*", "`"))


def only_a_password(value: str) -> bool:
    """Letters mixed with digits or marks as no word of a sentence is: told by itself, whatever stands before it."""
    if len(value) < 5 or form("terms").match(value) or is_identifier(value) or form("ordinary value").search(value):
        return False
    return _matches("[A-Za-z]", value) and _matches(r"\d|[A-Za-z][!#$%^*?]+[A-Za-z]", value)


def is_password(value: str, *, quoted: bool = True) -> bool:
    """What can be nothing but a password, and may be one after its name."""
    return only_a_password(value) and can_be_password(value, quoted=quoted)


def is_named_so(value: str) -> bool:
    """Log4Shell, KeePass2: products carry one digit among capital and small letters."""
    return classes(value) == 3 and value.isalnum() and sum(map(str.isdigit, value)) == 1


def only_a_token(value: str) -> bool:
    """Hexadecimal, a UUID or a random run: what a machine made, without a name that promises it."""
    if not can_be_token(value, least=12):
        return False
    hexadecimal = is_hex(value) and len(value) >= 32
    made = is_uuid(value) or hexadecimal or is_random(value, least=12)
    return made or _is_long_base64(value) or _is_shuffled(value)


def is_one_case(value: str) -> bool:
    """Letters of one case and digits, mixed at random: the keys of many clouds."""
    one_case = len(value) >= 24 and _matches(r"^(?:[a-z0-9]+|[A-Z0-9]+)$", value)
    return one_case and len(pattern(r"\d+").findall(value)) >= 4 and entropy(value[:200]) >= 3.3


def _is_long_base64(value: str) -> bool:
    return len(value) >= 32 and classes(value) >= 3 and _matches(r"^[A-Za-z0-9+/]+={0,2}$", value)


def _is_shuffled(value: str) -> bool:
    """Capital and small letters in no order: no name in code changes its case at every other letter."""
    return len(value) >= 20 and changes(value[:200]) >= 0.5 and classes(value) >= 2


def can_be_token(value: str, *, least: int = 8) -> bool:
    """A value that a machine made, after a name such as token or secret."""
    if not least <= len(value) <= 4000 or is_placeholder(value) or is_path(value) or is_slug(value):
        return False
    # Machines make tokens from a small alphabet; quotes, brackets and entities belong to something else.
    if value.isdigit() or value[0] in "|=#*" or not _matches(r"^[A-Za-z0-9+/=_.~:%$!@#^*|,?-]+$", value):
        return False
    shuffled = _is_shuffled(value)
    if (is_identifier(value) and not shuffled) or (
        form("name parts").search(value[:120].lower()) and classes(value) < 3
    ):
        return False
    mixed = (shuffled or _matches(r"\d", value)) and classes(value) >= 2
    return is_uuid(value) or (mixed and entropy(value[:200]) >= 2.4)


# Numbers that open accounts or name a person for good: cards, bank accounts, identity cards. Told by their check digits.


def _luhn(number: str) -> bool:
    digits = [int(char) for char in number if char.isdigit()]
    if len(set(digits)) < 4 or not 13 <= len(digits) <= 19 or digits[0] not in (2, 3, 4, 5, 6):
        return False
    return sum(sum(divmod(digit * (1 + place % 2), 10)) for place, digit in enumerate(reversed(digits))) % 10 == 0


def _is_like_a_card(number: str) -> bool:
    card = r"^[2-6]\d{3}([ -]?)\d{4}\1\d{4}\1\d{1,4}(?:\1\d{1,3})?$|^3[47]\d\d([ -]?)\d{6}\2\d{5}$"
    return _matches(card, number) and not is_example(number)


def _is_account(number: str) -> bool:
    plain = number.replace(" ", "")
    if not 15 <= len(plain) <= 34 or sum(char.isdigit() for char in plain) < 10:
        return False
    return int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1


def is_example(number: str) -> bool:
    """The cards that payment services print in their documents: 4242 4242 4242 4242."""
    return len(set(number) - set(" -")) < 4


_CALLED = (
    ("any card", "card words", _is_like_a_card),
    ("any bank account", "paying", lambda number: sum(map(str.isdigit, number)) >= 12),
)


def numbers(text: str) -> Findings:
    yield from apply_rules("card code", text)
    yield from apply_rules("dated card", text)
    yield from apply_rules("card", text, _luhn)
    yield from apply_rules("bank account", text, _is_account)
    yield from apply_rules("identity number", text)
    yield from apply_rules("named number", text, lambda number: len(number) < 15 or not is_example(number))
    if form("card words").search(text):  # then in whatever groups
        yield from apply_rules("any card", text, _luhn)
    # What is called by its name just before is one even with a wrong digit.
    for section, name, accepts in _CALLED:
        for finding in apply_rules(section, text, accepts) if form(name).search(text) else ():
            if form(name).search(text[max(0, finding.start - 60) : finding.start].rpartition("\n\n")[2]):
                yield finding
