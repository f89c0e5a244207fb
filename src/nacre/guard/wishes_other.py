"""Wishes not to be remembered as marks that any language has ("#nomemory", "incognito:"), and in German, French, Spanish, Japanese and Korean."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ENDS = r"(?=\s{0,3}(?:$|[.,!?:;)–—]))"
_MARKS = re.compile(
    r"(?<!\S)[\[(]?#(?:(?:no|do-?not|don['’]?t|never)[-_]?(?:memory|mem|logs?|record|remember|sav(?:e|ing)|store|notes?|memori[sz]e|keep|trace)|off-?the-?record|otr|incognito)\b(?![-/])"
    r"|(?:^|\n)\W{0,3}(?:incognito(?: mode)?(?:,? please)?|off[ -]the[ -]record|otr|no[ -]?memory)\s{0,2}[\])]?\s{0,2}(?:[:：–—-]|(?<=[\])]))"
    r"|(?:^|[\n。！？])\W{0,3}(?:无痕|隐身)(?:模式)?\s?[:：]",
    re.IGNORECASE,
)
# For each language: who asks, who only tells of remembering, and the things that a rule of work is about.
_LANGUAGES = tuple(
    (re.compile(asks, re.IGNORECASE), re.compile(tells_or_things, re.IGNORECASE))
    for asks, tells_or_things in (
        (
            r"\b(?:merke?|behalte?|behältst|notiere?|speichere?|schreibe?|vermerke?|protokolliere?|merkst|speicherst|notierst|aufschreibst)\b[^.!?\n]{0,30}\bnicht\b(?: (?:auf|mit|ab|fest|weiter))?"
            + _ENDS
            + r"|\bnicht\b[^.!?\n]{0,12}\b(?:merken|speichern|abspeichern|behalten|notieren|aufschreiben|mitschreiben|aufzeichnen|protokollieren|festhalten|merkst|speicherst|behältst|aufschreibst)\b"
            + _ENDS
            + r"|\bvergiss\b(?! nicht)[^.!?\n]{0,12}\b(?:was ich|(?:das|es)(?: wieder| bitte)?"
            + _ENDS
            + r")|\bbleib(?:t|en)? unter uns\b|\bunter uns(?: gesagt)?\s?[:,]|\bunter vier augen\b|\bim vertrauen\b|\bvertraulich"
            + _ENDS
            + r"|\bnicht (?:fürs|für das) protokoll\b",
            r"\b(?:ich|er|wir|man) (?:kann|konnte|können|habe|hatte)\b|\b(?:kann|konnte) (?:ich|er|man)\b|\b(?:datei\w*|logs?|logfile\w*|daten\w*|passw\w+|readme|code|cache|tabelle\w*|server|repo\w*|ordner\w*|token\w*)\b",
        ),
        (
            r"\bn(?:e |['’])(?:\w{1,3} )?(?:retiens|retenez|retenir|gardes?|gardez|enregistres?|enregistrez|notes?|notez|mémorises?|mémorisez|écris|écrivez|conserves?|conservez|sauvegardes?|sauvegardez) (?:pas|rien)"
            r"(?: (?:ça|cela|ceci|tout ça|ce que je [^.!?\n]{1,30}?))?(?: en mémoire| s['’]il (?:te|vous) plaît| dans (?:ta|votre) mémoire)?"
            + _ENDS
            + r"|\bne pas (?:le |la |l['’])?(?:mémoriser|enregistrer|retenir|garder|noter|conserver|sauvegarder)\b(?: (?:ceci|cela|ça))?(?: s['’]il (?:te|vous) plaît)?"
            + _ENDS
            + r"|(?<!['’])\boublie[zr]? (?:ce que j|ça|cela)|\breste(?:ra)? entre nous\b|\bentre nous ?[:,]|\bconfidentiel(?:lement)?"
            + _ENDS,
            r"\b(?:je|j|il|elle|on|nous|ils) n(?:e|['’])|\b(?:fichiers?|logs?|données|mots? de passe|readme|code|cache|serveur|dépôt|jetons?)\b",
        ),
        (
            r"\bno (?:lo |la |me |te )?(?:guard(?:es|e|ar|aras|ases)|recuerd(?:es|e)|memori(?:ces|ce|zar|zaras)|anot(?:es|e|ar|aras)|registr(?:es|e|ar|aras)|apunt(?:es|e|ar|aras)|almacen(?:es|e|ar)|escribas?|conserv(?:es|e|ar))\b"
            r"(?: (?:esto|eso|nada(?: de (?:esto|eso))?|lo que (?:te )?\w+))?(?:,? por favor| en tu memoria)?"
            + _ENDS
            + r"|\bolvid(?:a|e) (?:esto|eso|lo que (?:acabo|he|te|dije))\b|\bolvídalo\b|\bqued[ae] entre (?:nosotros|nosotras|tú y yo)\b|\bentre (?:nosotros|tú y yo) ?[:,]|\bextraoficial(?:mente)?\b|\bconfidencial(?:mente)?"
            + _ENDS,
            r"\b(?:archivos?|ficheros?|logs?|datos|contraseñas?|readme|código|caché|servidor|repositorio|tokens?)\b",
        ),
        (
            r"(?:覚え|記憶し|記録し|保存し|メモし|書き留め|書か|残さ)ないで|(?:覚え|記憶し|記録し|保存し|メモし)なくて(?:いい|良い|よい|結構)|(?:記憶|記録|保存|メモ)は?(?:不要|禁止|なし)で|オフレコ|ここだけの話|内緒(?:で|に|の話|だ)|秘密にし|(?:さっき|今|いま)の[^。！？\n]{0,8}忘れて(?!い)",
            r"パスワード|ファイル|ログ|データ|平文|コード|キャッシュ|トークン|リポジトリ|テーブル|サーバ",
        ),
        (
            r"(?:기억|저장|기록|메모|보관)[은는을를]? ?하지 ?(?:마|말|않)|(?:적|남기)지 ?(?:마|말)|오프 ?더 ?레코드|우리끼리|비밀(?:이야|이에요|로 ?해)|(?:방금|아까)[^.!?\n]{0,12}잊어",
            r"비밀번호|파일|로그|데이터|평문|(?<!레)코드|캐시|토큰|저장소|서버|테이블",
        ),
    )
)
_HINT = re.compile(
    r"nicht|vergiss|unter (?:uns|vier)|vertrau|\bn(?:e |['’])|oubli|entre (?:n|t)|confiden|\bno |olvid|extraofic|ないで|なくて|(?:記憶|記録|保存|メモ)は?[不禁な]|オフレコ|ここだけ|内緒|秘密|忘れ|지 ?(?:마|말|않)|오프|우리끼리|비밀|잊어",
    re.IGNORECASE,
)
# No sentence is longer; what is, is read in pieces, so that a pasted file costs no more than its length.
_SENTENCE = re.compile(r"[^.!?。！？\n]{1,300}[.!?。！？]?")


def wishes(text: str) -> Iterator[tuple[int, int]]:
    """Where a text asks not to be remembered."""
    for match in _MARKS.finditer(text):
        yield match.span()
    if not _HINT.search(text):
        return
    for sentence in _SENTENCE.finditer(text):
        if not _HINT.search(sentence.group()):
            continue
        for asks, tells_or_things in _LANGUAGES:
            if not tells_or_things.search(sentence.group()):
                for match in asks.finditer(sentence.group()):
                    yield sentence.start() + match.start(), sentence.start() + match.end()
