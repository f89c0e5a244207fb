"""Files as an agent may read them: without secrets, each line with its number, each project's alone."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

from nacre.context.pack import Part, Piece, PieceLine, has_content, left_out, without_empty_sections
from nacre.errors import NacreError
from nacre.guard.sanitise import one_line
from nacre.guard.secrets import redact, safe_lines
from nacre.i18n import say
from nacre.model import DAY_NAME, Stored, Workspace, slug_of
from nacre.text.blocks import AGENT, HEADING, blocks, is_structural, project_in_head, stamp_of
from nacre.text.layout import shortened
from nacre.vault.discover import project_at
from nacre.vault.entries import bare_words, comparable_words
from nacre.vault.ledger import NONE_CLOSED, ClosedEntries, telling_words
from nacre.vault.storage import read_memory, storage_of
from nacre.vault.working import BLOCKERS, CONTEXT, DAY_MARK, DECISIONS, PENDING, TASK, name_of

LARGEST = 1_000_000  # bytes; a larger file is no memory that a session could be given
CHECKPOINTS = 5  # of the hot layer, the newest
_HEAD_BYTES = 4096  # of a checkpoint, which was written without its secrets
_END_BYTES = 32_768  # of a long one, in which its outcome stands
_HEAD = 3  # lines of it, beside its title
_OUTCOME = 4  # lines of what was settled in it
_LOOKED_AT = 12  # lines that are searched for secrets to give these: one may go over several
_LONGEST = 240  # characters of each
# What a checkpoint says of itself: whose session it is, who speaks and when.
_ABOUT = re.compile(r"session:|\*\*.{1,100}\*\* \d{4}-\d{2}-\d{2} \d{2}:\d{2}(?: <!-- \w+ -->)?$")
# "Got it." and "Done.": it tells nothing, nor does "no, leave it", without what that is said of.
_NOD = re.compile(
    r"(?:(?:[好嗯行成得对是妥哦噢]|可以|明白|收到|了解|清楚|没问题|没事|不用|搞定|完事|就这样|算|还是|先|已?经?(?:记住|记下|记录|知道)|[换改弄做写删加修发传装配搬办补清回]好"
    r"|[不别][\u4e00-\u9fff](?![\u4e00-\u9fff])"
    r"|got it|noted|ok(?:ay)?|sure|understood|will do|done|great|perfect|nice|thanks|thank you|never ?mind|no problem|all right|alright|agreed|fixed|yes|yep|no"
    r"|i(?:'ll|’ll| will) remember(?: (?:that|this|it))?)[的了啦来嘞咧吧哈呢呀啊]*[\s,，.。!！、;；~～]*)+",
    re.IGNORECASE,
)
_TAGS = re.compile(r"(?:标签|Tags)[:：]|project:\S+$")
_PLAIN = re.compile(r"[A-Z-]+\.md|memory/[0-9-]+\.md(?:#L\d+-L\d+)?")  # names that cannot hold a secret


class Reader:
    """Reads the files of a workspace for a session of one project, and lists what it left out."""

    def __init__(self, workspace: Workspace, project: str | None, closed: ClosedEntries = NONE_CLOSED) -> None:
        self.workspace = workspace
        self.project = project
        self.closed = closed
        self.left: list[Part] = []
        self._project_at = cache(partial(project_at, workspace))  # many sessions work in one folder

    def own(self, path: Path) -> Piece | None:
        """USER.md or IDENTITY.md, without a heading that only repeats its name."""
        return self._piece(path, _untitled(_trimmed(self._lines(path)), f"# {path.name}"))

    def state(self, path: Path, today: dt.date) -> Piece | None:
        """Working memory, most important first; with its date where that is not today."""
        lines = _trimmed(self._lines(path))
        day = next((match[1] for line in lines if (match := DAY_MARK.fullmatch(line.text))), None)
        lines = [line for line in _untitled(lines) if not DAY_MARK.fullmatch(line.text)]
        piece = self._piece(path, _by_importance(self._holding(path, lines, day)))
        if piece and day and day != today.isoformat():
            piece = piece._replace(
                title=say(f"{piece.title}, last changed on {day}", f"{piece.title}（最后修改于 {day}）")
            )
        return piece

    def memory(self, path: Path) -> Piece | None:
        """A MEMORY.md without its title and the rules quoted at its head."""
        lines = _untitled(_trimmed(self._lines(path)))
        body = next((at for at, line in enumerate(lines) if line.text.startswith("##")), 0)
        head = [line for line in lines[:body] if not line.text.startswith(">")]
        return self._piece(path, _trimmed([*head, *lines[body:]]))

    def log(self, path: Path, day: dt.date) -> Piece | None:
        """A day's log, newest section first, without sections of other projects and without entries that no longer hold."""
        lines = self._lines(path)
        given: list[PieceLine] = []
        others: dict[str, list[PieceLine]] = {}
        for section in _newest_first(lines):
            mine: list[PieceLine] = []
            for name, part in section:
                (mine if name in (None, self.project) else others.setdefault(str(name), [])).extend(part)
            if has_content(mine := self._owners(path, self._holding(path, mine, day.isoformat()))):
                given += [*_trimmed(mine), PieceLine(0, "")]
        for name, part in others.items():
            if has_content(part):
                self._leave(path, part, _of_another(name))
        piece = self._piece(path, given[:-1])
        return piece and piece._replace(once=True)

    def checkpoints(self, folder: Path, root: Path) -> list[Piece]:
        hot = storage_of(self.workspace).walk(self.workspace.relative(folder), (".md",), depth=1)
        made = {stored.name.rpartition("/")[2]: _made(stored) for stored in hot}
        plain = [name for name in made if not name.endswith(".gist.md") or f"{name[:-8]}.md" not in made]
        newest = sorted(plain, key=lambda name: (made[name], name), reverse=True)
        given: list[Piece] = []
        for at, name in enumerate(newest):
            if len(given) == CHECKPOINTS:
                more = len(newest) - at
                reason = say(
                    f"{more} more; only the newest {CHECKPOINTS} are included",
                    f"另有 {more} 个；只包含最新的 {CHECKPOINTS} 个",
                )
                self._leave(folder, [], reason)
                break
            path, gist = folder / name, folder / f"{name[:-3]}.gist.md"
            texts = self._texts(path, root, _HEAD_BYTES)
            if not texts:
                continue
            if (project := _project_of(texts, self._project_at)) not in (None, self.project):
                self._leave(path, [PieceLine(at, text) for at, text in enumerate(texts, 1)], _of_another(str(project)))
                continue
            summary = self._texts(gist, root, _HEAD_BYTES) if gist.name in made else []
            if summary:  # its title and last lines, without tags: what was settled stands behind what was asked
                telling = [(at, text) for at, text in enumerate(summary, 1) if text.strip() and not _TAGS.match(text)]
                lines = _shortened([*telling[:1], *telling[1:][-_OUTCOME:]])
            else:
                lines = self._outcome(path, texts)
            if head := self._of_session(path, lines, made[name][:10]):
                given.append(Piece(self._shown(path), self._shown(path), tuple(head), once=True))
        return given

    def _outcome(self, path: Path, head: Sequence[str]) -> list[PieceLine]:
        """The title of a session and its outcome; where nothing was settled, its first lines."""
        from nacre.brain.local.settled import outcome

        texts = list(head)
        if len("\n".join(head).encode("utf-8", "replace")) >= _HEAD_BYTES - 4:  # of a long one its last lines
            end = storage_of(self.workspace).end(self.workspace.relative(path), _END_BYTES)
            texts = end.decode("utf-8", "replace").split("\n")
        settled = outcome("\n".join(text for text in texts if not text.startswith("session:")), _OUTCOME)
        if not settled:
            return _shortened(_telling(_without_quoted(head))[:_LOOKED_AT])[: _HEAD + 1]
        # Of a long session only its end was read, whose lines have no numbers.
        numbers = [next((at for at, text in enumerate(head, 1) if line in text), 0) for line in settled]
        title = next(iter(_telling(head)), (0, ""))
        return _shortened([title, *zip(numbers, map(one_line, settled), strict=True)])

    def _piece(self, path: Path, lines: Sequence[PieceLine]) -> Piece | None:
        shown = self._shown(path)
        return Piece(shown, shown, tuple(lines)) if has_content(lines) else None

    def _holding(self, path: Path, lines: Sequence[PieceLine], day: str | None) -> list[PieceLine]:
        """The lines without superseded ones, and without the agent's lines right below these that share words with them."""
        kept: list[PieceLine] = []
        stale, its_words = None, frozenset[str]()  # the line above that was left out
        for line in lines:
            end = self.closed.of(line.text, day)
            if end or not AGENT.match(bare_words(line.text)):
                stale, its_words = end, telling_words(line.text)
            elif its_words & telling_words(line.text):
                end = stale
            if end:
                self._leave(path, [line], say(f"superseded on {end.until}", f"已于 {end.until} 被取代"), needless=True)
            else:
                kept.append(line)
        return kept

    def _of_session(self, path: Path, lines: Sequence[PieceLine], day: str) -> list[PieceLine]:
        """The lines of a session without what no longer holds; none where only the title is left."""
        kept: list[PieceLine] = []
        for line in lines:
            text, end = self.closed.of_talk(line.text, day)
            if end:
                self._leave(path, [line], say(f"superseded on {end.until}", f"已于 {end.until} 被取代"), needless=True)
            kept += [line._replace(text=text)] if text and not _NOD.fullmatch(text) else []
        kept = _each_once(kept)
        return kept if len(lines) == 1 or kept != [lines[0]] else []

    def _owners(self, path: Path, lines: list[PieceLine]) -> list[PieceLine]:
        """The lines of a section without rules that are not the owner's: an agent's, or from a text that somebody read."""
        stamp = stamp_of(lines[0].text.lstrip("# ")) if lines else None
        if not stamp or not (stamp.session or stamp.by_agent):
            return lines
        from nacre.text.quoting import is_rule_of_others  # its expressions take long to compile

        bullets = (line for line in lines if line.text.startswith("- "))
        others = [line for line in bullets if is_rule_of_others(bare_words(line.text), by_agent=stamp.by_agent)]
        if others:
            self._leave(path, others, say("not the owner's own words", "不是用户本人的话"), needless=True)
        return [line for line in lines if line not in others]

    def _lines(self, path: Path) -> list[PieceLine]:
        return list(map(PieceLine._make, safe_lines(list(enumerate(self._texts(path, self.workspace.root), 1)))))

    def _texts(self, path: Path, root: Path, head: int | None = None) -> list[str]:
        """The lines of a file, or of its head, as they stand there; none where it cannot be given, with the reason noted."""
        storage, name, why_not = storage_of(self.workspace), self.workspace.relative(path), ""
        try:
            data = storage.read(name, head or LARGEST + 1) or b""
            real = storage.real(name) if data else ""
            if os.path.isabs(real) and not real.startswith(f"{storage.real(self.workspace.relative(root))}/"):
                why_not = say("a link that points outside the workspace", "指向工作区之外的链接")
            elif len(data) > LARGEST:
                why_not = say("larger than 1 MB", "超过 1 MB")
            elif b"\0" in data:
                why_not = say("not a text file; save it as UTF-8", "不是文本文件；请另存为 UTF-8")
        except NacreError as error:
            why_not = say("not a regular file", "不是普通文件")
            if isinstance(cause := error.__cause__, OSError):
                why_not = say(f"could not be read: {cause.strerror}", f"无法读取：{cause.strerror}")
        if why_not:
            self._leave(path, [], why_not)
            return []
        texts = data.decode("utf-8", errors="replace").removeprefix("\ufeff").split("\n")
        return texts[:-1] if texts[-1] == "" else texts

    def _leave(self, path: Path, lines: Sequence[PieceLine], reason: str, *, needless: bool = False) -> None:
        self.left.append(left_out(self._shown(path), lines, reason, needless=needless))

    def _shown(self, path: Path) -> str:
        return name_shown(os.fsencode(self.workspace.relative(path)).decode("utf-8", errors="backslashreplace"))


def _untitled(lines: Sequence[PieceLine], title: str = "# ") -> Sequence[PieceLine]:
    """The lines without the title of the file, which its path shows already. One of several titles is kept as a section."""
    if not lines or not lines[0].text.startswith(title) or any(line.text.startswith("# ") for line in lines[1:]):
        return lines
    return lines[1:] if len(lines) < 2 or lines[1].text.strip() else lines[2:]


def _by_importance(lines: Sequence[PieceLine]) -> list[PieceLine]:
    """The sections of working memory by importance, decisions with the newest first."""
    order = (TASK, BLOCKERS, PENDING, CONTEXT, None, DECISIONS)
    made: list[PieceLine] = []
    sections: list[tuple[str | None, list[PieceLine]]] = []
    for line in lines:
        if line.text.startswith("## "):
            sections.append((name_of(line.text[3:].strip()), []))
        (sections[-1][1] if sections else made).append(line)
    for name, section in sorted(sections, key=lambda section: order.index(section[0])):
        if name == DECISIONS:  # the list turned round, each item with the lines that belong to it
            items: list[list[PieceLine]] = []
            for line in section[1:]:
                if line.text.startswith(("-", "*", "+")) or not items:
                    items.append([])
                items[-1].append(line)
            section[1:] = [line for item in reversed(items) for line in item if line.text.strip()]
        made += [*_trimmed(section), PieceLine(0, "")]
    return made[:-1] if sections else made


def name_shown(path: str) -> str:
    """A name on one line and without secrets."""
    name = one_line(path)
    return name if _PLAIN.fullmatch(name) else redact(name).text


def _newest_first(lines: Sequence[PieceLine]) -> list[list[tuple[str | None, list[PieceLine]]]]:
    """The sections of a log, newest first, each as parts with their projects."""
    heads = [block for block in blocks([line.text for line in lines]) if block.kind == HEADING]
    ends = [*(block.start - 1 for block in heads[1:]), len(lines)]
    lead = list(lines[: heads[0].start - 1 if heads else None])
    sections: list[tuple[str, int, list[tuple[str | None, list[PieceLine]]]]] = [("", 0, [(None, lead)])]
    above: list[tuple[int, str | None]] = []
    for block, end in zip(heads, ends, strict=False):  # a log may have no heading at all
        stamp = stamp_of(block.text)
        above = [outer for outer in above if outer[0] < block.level]
        project = stamp.project or next((name for _, name in reversed(above) if name), None)
        above.append((block.level, project))
        is_title = block.level == 1 and is_structural(block.text)  # the day, which the path says already
        part = (project and slug_of(project), list(lines[block.end if is_title else block.start - 1 : end]))
        if block.level <= 2:
            sections.append(((stamp.time or sections[-1][0]).zfill(5), len(sections), [part]))
        else:
            sections[-1][2].append(part)
    return [parts for _, _, parts in sorted(sections, key=lambda section: section[:2], reverse=True)]


def _trimmed(lines: Sequence[PieceLine]) -> list[PieceLine]:
    kept = list(without_empty_sections(lines))
    while kept and not kept[-1].text.strip():
        kept.pop()
    return kept


def _made(stored: Stored) -> str:
    """When a checkpoint was made: by its name, else by its file."""
    name = stored.name.rpartition("/")[2]
    if DAY_NAME.fullmatch(name):
        return name[:15]
    return dt.datetime.fromtimestamp(stored.modified / 1e9, dt.UTC).strftime("%Y-%m-%d-%H%M")


def project_of_checkpoint(path: Path, workspace: Workspace) -> str | None:
    head = read_memory(workspace, path)[:_HEAD_BYTES].decode("utf-8", "replace")
    return _project_of(head.split("\n"), partial(project_at, workspace))


def _project_of(texts: Sequence[str], name_at: Callable[[str], str]) -> str | None:
    """The project of a checkpoint: named in its head, or that of the folder of its session."""
    if project := project_in_head(texts):
        return project
    for text in texts[:6]:
        session, *fields = (part.strip() for part in text.split("|"))
        if session.startswith("session:") and len(fields) > 2 and fields[0] != "openclaw" and os.path.isabs(fields[-1]):
            return slug_of(name) if (name := name_at(fields[-1])) else None
    return None


def _without_quoted(texts: Sequence[str]) -> list[str]:
    """The lines of a session, with quoted lines and an agent's rules left empty."""
    from nacre.brain.local.settled import split_turns
    from nacre.model import Speaker
    from nacre.text.quoting import is_rule_of_others, own_words

    own: set[str] = set()
    said: set[str] = set()
    for turn in split_turns("\n".join(texts)):
        said.update(map(str.strip, turn.text.split("\n")))
        is_owner = turn.speaker is Speaker.OWNER
        lines = own_words(turn.text, typed=is_owner).split("\n")
        own.update(line.strip() for line in lines if not is_rule_of_others(line, by_agent=not is_owner))
    quoted = said - own
    return ["" if text.strip() in quoted else text for text in texts]


def without_nods(lines: Sequence[PieceLine]) -> list[PieceLine]:
    """The lines of a session without acknowledgements ("Got it."), and without speakers who said nothing else."""
    kept: list[PieceLine] = []
    is_said = False
    for line in reversed(lines):
        text = line.text.strip()
        speaks = bool(_ABOUT.match(text))
        if not _NOD.fullmatch(text) and (is_said or not speaks):
            kept.append(line)
        is_said = not speaks and (is_said or bool(text and not _NOD.fullmatch(text)))
    kept.reverse()
    return kept if has_content(line for line in kept if not _ABOUT.match(line.text)) else []


def _telling(texts: Sequence[str]) -> list[tuple[int, str]]:
    return [(at, text) for at, text in enumerate(texts, 1) if text.strip() and not _ABOUT.match(text)]


def _shortened(lines: Sequence[tuple[int, str]]) -> list[PieceLine]:
    """The lines, each cut to what is needed to recognise the session."""
    texts = ((number, text.lstrip("# ").strip() or "…") for number, text in safe_lines(lines))
    return [PieceLine(at, shortened(text, _LONGEST)) for at, text in texts]


def _each_once(lines: Sequence[PieceLine]) -> list[PieceLine]:
    """The lines without those whose words another line holds too."""
    words = [comparable_words(line.text) for line in lines]
    again = (
        own and (own in words[:at] or any(own in other and len(own) < len(other) <= 2 * len(own) for other in words))
        for at, own in enumerate(words)
    )
    return [line for line, is_again in zip(lines, again, strict=True) if not is_again]


def _of_another(project: str) -> str:
    return say(
        f"belongs to project {project}; add --project {project} to include it",
        f"属于项目 {project}；加上 --project {project} 可包含它",
    )
