"""Values on a line of their own, after a line that ends with their name: notes, forms, YAML blocks, fenced lines."""

from __future__ import annotations

from nacre.guard.finding import Finding, Findings, pattern
from nacre.guard.labels import Label, fits, label

# What may stand between the name and the end of its line.
CLOSING = r"[\s:=*_`\"'>|\-–—{(\[~#]+$"
SPOKEN = r"\s(?:is|are|ist|est|es|as follows|below|is as follows)$|(?:如下|是|为)$"
FOR_WHOM = r"^\s(?:for|of|to|on|in)\s[\w@.' -]{1,40}$|^\s?[(\[][^()\[\]]{1,30}[)\]]$|^如下$"
VALUE_ALONE = r"[\s>*+•-]{0,16}(?:(?:value|default|stringdata)\s?:\s?)?[\"'`*“「<]{0,3}(?P<value>[^\s\"'`“”「」*<>]{4,400})[\"'`*”」]{0,3}[}\])]{0,3}(?:</[\w:.-]{1,40}>)?[,;.]?\s*$"
ENDS = frozenset(":=*_`\"'>|-–—{([~#")
AHEAD = 4


def following(lines: list[str], at: int, offsets: list[int]) -> Findings:
    """What the next lines give away if line `at` ends with the name of a secret."""
    announced = _announces(lines[at])
    if not announced:
        return
    many = announced.core.lower().endswith("s") or announced.kind == "one-time code"
    taken = False
    for place in range(at + 1, min(at + 1 + (12 if many else AHEAD), len(lines))):
        line = lines[place]
        if len(line) > 600:
            return
        if not line.strip() or pattern(r"^\s*(?:(?:```|~~~)[\w-]{0,20}|={3,}|-{3,})\s*$").match(line):
            if taken:
                return
            continue
        value = pattern(VALUE_ALONE).match(line)
        if not value or not fits(announced, value["value"].rstrip(".,;")):
            return
        taken = True
        start = offsets[place] + value.start("value")
        yield Finding(announced.kind, start, start + len(value["value"].rstrip(".,;")))
        if not many:
            return


def _announces(line: str) -> Label | None:
    """The label at the end of the line: before a colon, in emphasis, as an opening element, or all that stands there."""
    tail = pattern(r"<<-?[\"']?\w{2,20}[\"']?$").sub("", line[-120:].rstrip()).rstrip()
    if not tail or (tail[-1] not in ENDS and len(line) > 60):
        return None
    head = pattern(CLOSING).sub("", tail)
    marks = tail[len(head) :].strip()
    spoken = pattern(SPOKEN).search(head)
    if spoken:
        head = head[: spoken.start()]
    found = label(head)
    if not found:
        return None
    rest = head[found.end :]
    if rest and not pattern(FOR_WHOM).match(rest):
        return None
    if marks and (set(marks) & set(":=|>") or marks[0] in "*_`"):
        return found
    # In code "pass" stands alone on its line and announces nothing.
    alone = not rest and not head[: found.start].strip("#*_ \t>-") and len(found.core) > 4
    return found if alone or (spoken and marks) else None
