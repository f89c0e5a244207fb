"""What a night of tidying costs: three years of logs at once, then a night with one new day, then one with nothing to do.

    .venv/bin/python -m bench.tidy [--days 1100] [--no-models] [--profile backlog|night]

CPU seconds (user and system), wall time and peak memory of fresh processes, the index brought up to date included. Ends with exit
code 1 when a night takes more than two CPU seconds or anything more than 400 MB.
"""

from __future__ import annotations

import argparse
import datetime as dt
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.capture import NACRE, Cost, cost_of, surroundings
from bench.corpus import words

FIRST = dt.date(2023, 2, 6)
PROJECTS = ("shop-api", "site", "engine", None)
SLOWEST, LARGEST = 2.0, 400e6  # CPU seconds of a night, bytes of any run
_SAID = (
    "Use {a} for the {b} reports, never {c}",
    "The {a} service listens on port {n}; {b} needs it to be reachable from the {c} network",
    "Moved the {a} jobs from {b} to {c}; {n} tests pass",
    "User asked why the {a} build is slow; the {b} step compiled {c} twice",
    "From now on every {a} change gets a review by the {b} team before {c}",
    "Meeting about the {a} budget went over by {n} minutes, continue with {b} next week",
    "The {a} importer fails on empty {b} rows because {c} is read before the header",
    "Maria from the {a} team owns the {b} contract and answers before noon",
    "[TEMP] Restarted the {a} worker {n} times today",
    "[PREF] Answer {a} questions in short sentences, with {b} first",
    "Fixed issue #{n}: the {a} page showed {b} instead of {c}",
    "Decided to keep {a} data for {n} days and delete {b} backups after that",
    "以后所有{a}报告都用{b}，不要再用{c}",
    "{a}服务的超时时间改成了{n}秒，因为{b}经常很慢",
    "用户问为什么{a}的构建失败；原因是{b}没有安装",
    "[决策] {a}数据保留{n}天，之后删除{b}备份",
    "今天修好了{a}页面上的{b}问题，{n}个测试通过",
    "负责{a}合同的是{b}组的李娜，上午联系她最好",
    "发现{a}导入在{b}为空时会出错，要先检查{c}",
    "[任务] 下周继续整理{a}和{b}的文档",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=1100)
    parser.add_argument("--no-models", action="store_true", help="without the embedding models, by structure alone")
    parser.add_argument("--profile", choices=("backlog", "night"), help="where the time of that run goes")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nacre-bench-") as folder:
        costs = measure(Path(folder), args.days, models=not args.no_models, profiled=args.profile)
    if max(one.cpu for one in costs[1:]) > SLOWEST or max(one.peak for one in costs) > LARGEST:
        sys.exit("a night took more than two CPU seconds, or a run more than 400 MB")


def measure(home: Path, count: int, *, models: bool, profiled: str | None) -> list[Cost]:
    """The costs of the backlog, of a night with one new day, and of a night with nothing to do."""
    env = surroundings(home, models=models)
    chance = random.Random(20260214)
    memory = home / "ws" / "memory"
    bullets = sum(write_day(memory, FIRST + dt.timedelta(days=number), chance) for number in range(count))
    how = "with the models" if models else "without models"
    print(f"{count} days, {bullets} bullets, {how}", flush=True)
    costs: list[Cost] = []
    for number, name in enumerate(("backlog", "one new day", "nothing to do")):
        today = FIRST + dt.timedelta(days=count + (number > 0))
        if number == 1:
            write_day(memory, today - dt.timedelta(days=1), chance)
        command = (*NACRE, "tidy", "--now", f"{today.isoformat()}T04:00:00+00:00")
        if profiled and name.startswith(profiled.replace("night", "one")):
            subprocess.run([sys.executable, "-m", "cProfile", "-s", "tottime", *command[1:]], env=env, check=True)
            return [*costs, Cost(0, 0, 0)]
        cost = cost_of(command, env)
        costs.append(cost)
        print(f"  {name:14} {cost.cpu:8.2f} CPU s {cost.wall:8.1f} s {cost.peak / 1e6:8.0f} MB at most", flush=True)
    return costs


def write_day(memory: Path, day: dt.date, chance: random.Random) -> int:
    """The log of a day, three talks in three places; how many bullets it has."""
    lines, bullets = [f"# {day.isoformat()}", ""], 0
    for hour in (9, 14, 18):
        project = chance.choice(PROJECTS)
        place = f" | project:{project}" if project else ""
        lines.append(
            f"## {hour:02}:{chance.randrange(60):02} session:{chance.getrandbits(32):08x} | 12 messages{place}"
        )
        told = [said(chance) for _ in range(chance.randrange(3, 6))]
        bullets += len(told)
        lines += [*(f"- {one}" for one in told), ""]
    memory.joinpath(f"{day.isoformat()}.md").write_text("\n".join(lines), encoding="utf8")
    return bullets


def said(chance: random.Random) -> str:
    form = chance.choice(_SAID)
    a, b, c = (words(chance, chance.randrange(1, 3), chinese=not form.isascii()) for _ in "abc")
    return form.format(a=a, b=b, c=c, n=chance.randrange(2, 400))


if __name__ == "__main__":
    main()
