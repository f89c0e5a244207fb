"""The corpus to measure on: an archive that the caller names, or notes made here with needles hidden in them."""

from __future__ import annotations

import json
import random
import tarfile
from pathlib import Path
from typing import Any

ENGLISH = (
    "meeting budget deploy garden server kitchen ticket release harbour violin paper meadow orange train window letter coffee "
    "bridge winter sensor copper ladder river engine market forest camera pocket island thread basket candle mirror saddle"
).split()
CHINESE = "会议 预算 部署 花园 服务 厨房 工单 发布 港口 提琴 纸张 草地 橙子 火车 窗户 信件 咖啡 桥梁 冬天 传感 铜线 梯子 河流 引擎 市场 森林 相机 口袋 岛屿 丝线".split()
_NAMES_EN = (
    "Braldor",
    "Quimsel",
    "Tovarne",
    "Jelphin",
    "Murkast",
    "Wendrik",
    "Sorvale",
    "Pindrex",
    "Haldune",
    "Grivost",
)
_NAMES_ZH = (
    "北溟计划",
    "青梧平台",
    "落霞网关",
    "听雨服务",
    "观澜项目",
    "折桂引擎",
    "扶摇集群",
    "揽月仓库",
    "疏桐接口",
    "停云任务",
)


def words(chance: random.Random, count: int, *, chinese: bool = False) -> str:
    """So many words of no meaning."""
    return "".join(chance.choices(CHINESE, k=count)) if chinese else " ".join(chance.choices(ENGLISH, k=count))


def lay_out(folder: Path, archive: Path | None, count: int = 2000) -> list[dict[str, Any]]:
    """Put the notes under `memory/` of a folder; the needles: lang, file, kw, q."""
    target = folder / "memory"
    target.mkdir(parents=True)
    if archive is None:
        return _made(target, count)
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    for place in (folder / "unpacked" / "corpus").iterdir():
        place.rename(target / place.name)
    needles: list[dict[str, Any]] = json.loads((folder / "unpacked" / "needles.json").read_text(encoding="utf8"))
    return needles


def _made(target: Path, count: int) -> list[dict[str, Any]]:
    chance = random.Random(20260214)
    needles: list[dict[str, Any]] = []
    for number in range(count):
        chinese = number % 2 == 1
        words = CHINESE if chinese else ENGLISH
        paragraphs = []
        for _ in range(3):
            sentences = [
                "".join(chance.choices(words, k=8)) + "。"
                if chinese
                else " ".join(chance.choices(words, k=9)).capitalize() + "."
                for _ in range(5)
            ]
            paragraphs.append(("" if chinese else " ").join(sentences))
        if number % max(1, count // 50) in (0, 1) and len(needles) < 100:
            paragraphs[1] += _needle(needles, number, chinese=chinese)
        (target / f"note-{number:05}.md").write_text(
            f"# {words[number % len(words)]}\n\n" + "\n\n".join(paragraphs) + "\n", encoding="utf8"
        )
    return needles


def _needle(needles: list[dict[str, Any]], number: int, *, chinese: bool) -> str:
    file = f"{number:05}"
    if chinese:
        name = f"{_NAMES_ZH[number // 2 % 10]}{number}号"
        needles.append({"lang": "zh", "file": file, "kw": f"{name} 备份 密钥", "q": f"{name}的备份密钥放在哪里"})
        return f"{name}的备份密钥存放在三楼的档案柜里。"
    name = f"{_NAMES_EN[number // 2 % 10]}{number}"
    needles.append(
        {"lang": "en", "file": file, "kw": f"{name} backup key", "q": f"where does {name} keep its backup key"}
    )
    return f" The {name} project stores its backup key in the archive on the third floor."
