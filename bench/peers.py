"""Our search beside the floor (BM25) and beside that of others, on the same data, on the same machine, in the same run.

    .venv/bin/python -m bench.peers [--data FOLDER] [--sets locomo-turn madial-zh] [--only Nacre Qmd] [--kept FOLDER] [--json out.json]

Notes with needles tell times and hits; with `--data`, public question sets (`NAME.jsonl.gz`, a memory on each line, as in docs/benchmarks.md)
tell how often evidence is found. Each peer is installed from npm or PyPI into a scratch folder (`--kept` keeps it). None may fetch a model, so
that those that take an OpenAI-compatible service are given our own two models (bench.embeddings); its work is counted as theirs. A peer
that cannot be measured gets a row that says why. Linux only: CPU time is read from /proc.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import os
import re
import resource
import secrets
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

os.environ.setdefault("OMP_NUM_THREADS", "1")

from bench.corpus import lay_out
from bench.daemon import NACRE, daemon
from bench.qmd import VERSION as QMD
from nacre.daemon.client import Connection

OPENCLAW, MEMSEARCH, MEMPALACE = "2026.9.6", "0.4.23", "3.11.0"
BASIC_MEMORY = "0.23.2"
DIMENSIONS = 896  # of both our models together
TOP = 10
Ask = Callable[[str], str]
_NOTE = re.compile(r"([\w-]+)\.md")
_RUN_OF_LETTERS = re.compile(r"[\u4e00-\u9fff]+|[^\W\u4e00-\u9fff]+")
_STOP_WORDS = frozenset(
    "a an the of to in on at for and or is are was were be been did do does what when where who whom which how why with from by it its this "
    "that i me my you your he she his her they their we our as about has have had not can could would will should if than then there so any".split()
)


class Served(NamedTuple):
    """A search that waits for questions: what it answers, and the processes that do so."""

    ask: Ask
    processes: tuple[int, ...]


class Peer(Protocol):
    """One search over a folder of notes; `home` holds those notes in memory/ and all that the peer writes."""

    name: str

    def __init__(self, installed: Path, home: Path, endpoint: str) -> None: ...

    def install(self) -> None:
        """Fetch it where it is not there yet."""

    def index(self) -> None:
        """Read all notes, from nothing."""

    def fresh(self, query: str) -> None:
        """One search in a process of its own."""

    def serving(self) -> AbstractContextManager[Served]:
        """Its server, or what comes nearest to one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--archive", type=Path, help="a .tar.gz with corpus/ and needles.json; default: notes made here"
    )
    parser.add_argument("--notes", type=int, default=500, help="how many notes are made; 0: none, the sets alone")
    parser.add_argument("--data", type=Path, help="a folder with question sets")
    parser.add_argument("--sets", nargs="*", help="these sets alone")
    parser.add_argument("--questions", type=int, default=100, help="as many whole memories of a set as hold these")
    parser.add_argument("--only", nargs="*", choices=[peer.__name__ for peer in PEERS], help="these alone")
    parser.add_argument("--kept", type=Path, help="where installations stay for the next time")
    parser.add_argument("--json", type=Path, help="write the figures here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nacre-bench-") as scratch, endpoint() as (address, process):
        os.environ["XDG_RUNTIME_DIR"] = scratch
        bench = Bench(Path(scratch), args.kept or Path(scratch) / "installed", address, process)
        peers = [peer for peer in PEERS if peer.__name__ in (args.only or [peer.__name__])]
        if args.notes:
            bench.needles(peers, args.archive, args.notes)
        for place in sorted(args.data.glob("*.jsonl.gz")) if args.data else ():
            if (name := place.name.removesuffix(".jsonl.gz")) in (args.sets or [name]):
                bench.questions(peers, name, place, args.questions)
    print(bench.table())
    if args.json:
        args.json.write_text(json.dumps(bench.figures, indent=1, ensure_ascii=False), encoding="utf8")


class Bench:
    """The figures so far, a row for each peer, and where the work is done."""

    def __init__(self, scratch: Path, installed: Path, address: str, process: int) -> None:
        self._scratch, self._installed, self._address, self._process = scratch, installed, address, process
        self.figures: dict[str, dict[str, str]] = {}

    def needles(self, peers: Sequence[type[Peer]], archive: Path | None, count: int) -> None:
        """Times, and needles found in the top 5; all servers are asked in turn: whatever else the machine does, it does to all."""
        needles = lay_out(self._scratch / "notes", archive, count)
        indexed = {}
        for kind in self._measurable(peers):
            with self._row(kind.name) as row:
                peer = self._made(kind, self._scratch / "notes" / "memory")
                row["index"] = self._cost(peer.index)
                row["fresh process"] = self._cost(*(partial(peer.fresh, needle["kw"]) for needle in needles[:3]))
                indexed[kind.name] = peer
        with ExitStack() as servers:
            served = {}
            for name, peer in indexed.items():
                with self._row(name):
                    server = servers.enter_context(peer.serving())
                    for needle in needles[-3:]:  # so that it is warm
                        server.ask(needle["q"])
                    served[name] = server
            self._ask_in_turn(served, needles)

    def _ask_in_turn(self, served: dict[str, Served], needles: list[dict[str, Any]]) -> None:
        taken: dict[str, list[float]] = {name: [] for name in served}
        work = dict.fromkeys(served, 0.0)
        found: dict[str, Counter[str]] = {name: Counter() for name in served}
        asked: Counter[str] = Counter()
        for form, kind in (("kw", "words"), ("q", "questions")):
            for needle in needles:
                group = f"{needle['lang']} {kind}"
                asked[group] += 1
                for name, server in served.items():
                    before, began = self._cpu(server.processes), time.perf_counter()
                    with self._row(name):
                        answer = server.ask(needle[form])
                        taken[name].append((time.perf_counter() - began) * 1000)
                        work[name] += self._cpu(server.processes) - before
                        found[name][group] += any(needle["file"] in note for note in notes_in(answer)[:5])
        for name, times in ((name, sorted(times)) for name, times in taken.items() if times):
            cpu = 1000 * work[name] / len(times)
            shown = f"{statistics.median(times):.1f} / {times[int(len(times) * 0.95)]:.1f} ms, {cpu:.0f} CPU ms"
            self.figures[name]["server, p50 / p95"] = shown
            self.figures[name] |= {group: f"{found[name][group]} of {count}" for group, count in asked.items()}

    def questions(self, peers: Sequence[type[Peer]], name: str, place: Path, enough: int) -> None:
        """Evidence found at the first place and in the top 5, each document a note of its own."""
        with gzip.open(place, "rt", encoding="utf8") as lines:
            memories = [memory for memory in map(json.loads, lines) if "queries" in memory]
        for kind in self._measurable(peers):
            hits: list[tuple[bool, bool]] = []
            with self._row(kind.name) as row:
                for memory in memories:
                    if len(hits) < enough:
                        hits += self._of_memory(kind, memory, enough - len(hits))
                if hits:
                    first, five = (100 * statistics.mean(column) for column in zip(*hits, strict=True))
                    row[f"{name}, n = {len(hits)}"] = f"{first:.0f} / {five:.0f}"
                    print(f"         {name}: {first:.0f} / {five:.0f}, n = {len(hits)}", file=sys.stderr)

    def _of_memory(self, kind: type[Peer], memory: dict[str, Any], most: int) -> list[tuple[bool, bool]]:
        hits = []
        with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
            notes, documents = Path(folder) / "notes", {}
            notes.mkdir()
            for number, (document, date, text) in enumerate(memory["docs"]):
                documents[f"{date or 'note'}-{number:05}"] = document
                (notes / f"{date or 'note'}-{number:05}.md").write_text(
                    f"# {date or 'Note'}\n\n{text}\n", encoding="utf8"
                )
            peer = self._made(kind, notes)
            peer.index()
            with peer.serving() as server:
                for query, _, text in memory["queries"][:most]:
                    ranked = [documents.get(note) in memory["gold"][query] for note in notes_in(server.ask(text))]
                    hits.append((any(ranked[:1]), any(ranked[:5])))
        return hits

    def _made(self, kind: type[Peer], notes: Path) -> Peer:
        home = Path(tempfile.mkdtemp(dir=self._scratch))
        shutil.copytree(notes, home / "memory")  # each its own: some write into them
        peer = kind(self._installed / kind.__name__, home, self._address)
        peer.install()
        return peer

    @contextmanager
    def _row(self, name: str) -> Iterator[dict[str, str]]:
        """The row of a peer; an error ends the work on it and stands there as the reason."""
        row = self.figures.setdefault(name, {})
        try:
            yield row
        except (OSError, RuntimeError, http.client.HTTPException) as error:
            row["not measured"] = " ".join(str(error).split())

    def _measurable(self, peers: Sequence[type[Peer]]) -> Iterator[type[Peer]]:
        for peer in peers:
            if "not measured" not in self.figures.get(peer.name, {}):
                print(f"{time.strftime('%H:%M:%S')} {peer.name}", file=sys.stderr)
                yield peer

    def _cost(self, *work: Callable[[], None]) -> str:
        """CPU seconds of the processes started, our models' among them, and wall seconds: the median."""
        cpu, wall = [], []
        for one in work:
            before, began = _children() + self._cpu(), time.perf_counter()
            one()
            wall.append(time.perf_counter() - began)
            cpu.append(_children() + self._cpu() - before)
        return f"{statistics.median(cpu):.2f} CPU s, {statistics.median(wall):.2f} s"

    def _cpu(self, processes: Sequence[int] = ()) -> float:
        """CPU seconds so far of this process, our models' and these."""
        return time.process_time() + sum(map(_cpu_of_tree, (self._process, *processes)))

    def table(self) -> str:
        columns = list(dict.fromkeys(column for row in self.figures.values() for column in row))
        lines = [["", *columns], ["---"] * (len(columns) + 1)]
        lines += [[name, *(row.get(column, "") for column in columns)] for name, row in self.figures.items()]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def notes_in(answer: str) -> list[str]:
    """The notes that an answer names, in its order, each once."""
    return list(dict.fromkeys(_NOTE.findall(answer)))


class Bm25:
    """The floor: SQLite's full-text search, stemmed, without stop words; Chinese as characters and pairs of them."""

    name = "BM25"

    def __init__(self, installed: Path, home: Path, endpoint: str) -> None:  # noqa: ARG002 - nothing to install
        self._home = home

    def install(self) -> None:
        """It comes with Python."""

    def index(self) -> None:
        with sqlite3.connect(self._home / "index.db") as index:
            index.execute("create virtual table notes using fts5(name unindexed, body, tokenize='porter unicode61')")
            for note in (self._home / "memory").rglob("*.md"):
                body = " ".join(self._words(note.read_text(encoding="utf8")))
                index.execute("insert into notes values(?, ?)", (note.name, body))

    def fresh(self, query: str) -> None:
        """It has no program of its own."""

    @contextmanager
    def serving(self) -> Iterator[Served]:
        with sqlite3.connect(self._home / "index.db") as index:

            def ask(query: str) -> str:
                words = dict.fromkeys(self._words(query))
                terms = " OR ".join(f'"{word}"' for word in words if word not in _STOP_WORDS)
                found = index.execute(
                    "select name from notes where notes match ? order by bm25(notes) limit ?", (terms, TOP)
                )
                return " ".join(name for (name,) in found)

            yield Served(ask, ())

    @staticmethod
    def _words(text: str) -> list[str]:
        words = []
        for run in _RUN_OF_LETTERS.findall(text.lower()):
            is_han = "\u4e00" <= run[0] <= "\u9fff"
            words += [*run, *(run[at : at + 2] for at in range(len(run) - 1))] if is_han else [run]
        return words


class Nacre:
    """Ours, as it comes: by words and by meaning."""

    name = "Nacre"
    mode = "hybrid"
    indexing = "index"

    def __init__(self, installed: Path, home: Path, endpoint: str) -> None:  # noqa: ARG002 - it is here
        self._home = home

    def install(self) -> None:
        """It is here."""

    def index(self) -> None:
        for command in ("init", self.indexing):
            _run([*NACRE, "--workspace", str(self._home), command])

    def fresh(self, query: str) -> None:
        _run([*NACRE, "--workspace", str(self._home), "search", "--mode", self.mode, query])

    @contextmanager
    def serving(self) -> Iterator[Served]:
        with daemon(self._home) as process, Connection(str(self._home)) as kept:

            def ask(query: str) -> str:
                asked = {"query": query, "limit": TOP, "mode": self.mode, "as_json": True}
                answer: str = kept.ask("search", asked=asked)["parts"][0][1]
                return answer

            yield Served(ask, (process.pid,))


class NacreByWords(Nacre):
    """Ours without vectors."""

    name = "Nacre, by words"
    mode = "text"
    indexing = "update"


class Installed:
    """A program from npm or PyPI in a scratch folder, at home in the folder of its notes."""

    name: str
    packages: tuple[str, ...]
    pythons: tuple[str, ...] = (sys.executable,)

    def __init__(self, installed: Path, home: Path, endpoint: str) -> None:
        self._installed, self._home, self._endpoint = installed, home, endpoint
        self._notes = home / "memory"
        places = {"XDG_CACHE_HOME": str(home / "cache"), "XDG_CONFIG_HOME": str(home / "config")}
        programs = f"{installed / 'node_modules/node/bin'}:{installed / 'node_modules/.bin'}:{installed / 'venv/bin'}"
        offline = {"HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "none"}
        self._env = {**os.environ, "HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}", **places, **offline}

    def install(self) -> None:
        done = self._installed / "done"
        if done.exists():
            return
        self._installed.mkdir(parents=True, exist_ok=True)
        self._fetch()
        done.touch()

    def _fetch(self) -> None:
        python = next(filter(None, map(shutil.which, self.pythons)), None)
        if python is None:
            raise RuntimeError(f"none of {', '.join(self.pythons)} is at hand")
        _run([python, "-m", "venv", str(self._installed / "venv")])
        _run([str(self._installed / "venv/bin/pip"), "install", "--quiet", *self.packages])


class FromNpm(Installed):
    """A program for Node, with a Node that is new enough for it."""

    def _fetch(self) -> None:
        if not shutil.which("npm"):
            raise RuntimeError("npm is not at hand")
        env = {**os.environ, "PATH": self._env["PATH"]}  # npm's own settings stand in the real home
        for package in ("node@24", *self.packages):  # the first is on the path when the others look for it
            _run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(self._installed), package], env)


class Qmd(FromNpm):
    """BM25: its embeddings need a model of its own from a hub."""

    name = f"qmd {QMD}, BM25"
    packages = (f"@tobilu/qmd@{QMD}",)

    def index(self) -> None:
        _run(["qmd", "collection", "add", str(self._notes), "--name", "notes"], self._env)

    def fresh(self, query: str) -> None:
        _run(["qmd", "search", query, "-n", str(TOP)], self._env)

    @contextmanager
    def serving(self) -> Iterator[Served]:
        port = _free_port()
        with _running(["qmd", "mcp", "--http", "--port", str(port)], self._env, port, self._home / "log") as (
            http_,
            pid,
        ):

            def ask(query: str) -> str:
                searches = [{"type": "lex", "query": query}]
                return _post(http_, "/query", {"searches": searches, "limit": TOP, "rerank": False})

            yield Served(ask, (pid,))


class OpenClaw(FromNpm):
    """memory-core with vectors."""

    name = f"OpenClaw {OPENCLAW}"
    packages = (f"openclaw@{OPENCLAW}",)
    token = secrets.token_hex(16)

    def index(self) -> None:
        remote = {"baseUrl": f"{self._endpoint}/", "apiKey": "none"}
        search = {"provider": "openai-compatible", "model": "nacre", "remote": remote, "sources": ["memory"]}
        settings = {
            "agents": {"defaults": {"workspace": str(self._home)}},
            "memory": {"search": {**search, "rememberAcrossConversations": False}},
            "plugins": {"entries": {"memory-core": {"config": {"dreaming": {"enabled": False}}}}},
            "gateway": {"mode": "local", "auth": {"mode": "token", "token": self.token}},
        }
        place = self._home / "openclaw.json"
        place.write_text(json.dumps(settings), encoding="utf8")
        self._env |= {"OPENCLAW_STATE_DIR": str(self._home / "state"), "OPENCLAW_CONFIG_PATH": str(place)}
        _run(["openclaw", "memory", "index", "--force"], self._env)

    def fresh(self, query: str) -> None:
        _run(["openclaw", "memory", "search", query, "--max-results", str(TOP), "--json"], self._env)

    @contextmanager
    def serving(self) -> Iterator[Served]:
        port = _free_port()
        command = ["openclaw", "gateway", "run", "--port", str(port)]
        with _running(command, self._env, port, self._home / "log") as (connection, pid):

            def ask(query: str) -> str:
                wanted = {"tool": "memory_search", "args": {"query": query, "maxResults": TOP, "minScore": 0}}
                return _post(connection, "/tools/invoke", wanted, {"Authorization": f"Bearer {self.token}"})

            yield Served(ask, (pid,))


class Memsearch(Installed):
    """Milvus Lite, by words and by meaning. It has no server: a process that keeps its Python object open stands for one."""

    name = f"memsearch {MEMSEARCH}"
    packages = (f"memsearch=={MEMSEARCH}",)

    def index(self) -> None:
        _run(["memsearch", "index", str(self._notes), *self._options()], self._env)

    def fresh(self, query: str) -> None:
        _run(["memsearch", "search", query, "-k", str(TOP), *self._options()], self._env)

    def _options(self) -> list[str]:
        model = ["--provider", "openai", "--model", "nacre", "--base-url", self._endpoint, "--api-key", "none"]
        return [*model, "--milvus-uri", str(self._home / "milvus.db")]

    @contextmanager
    def serving(self) -> Iterator[Served]:
        opened = "embedding_provider='openai', embedding_model='nacre', embedding_base_url=sys.argv[1], embedding_api_key='none'"
        program = (
            "import asyncio, json, sys\n"
            "from memsearch import MemSearch\n"
            "async def serve():\n"
            f"    memory = MemSearch([], {opened}, milvus_uri=sys.argv[2])\n"
            "    for line in sys.stdin:\n"
            f"        print(json.dumps(await memory.search(json.loads(line), top_k={TOP})), flush=True)\n"
            "asyncio.run(serve())\n"
        )
        command = ["python", "-c", program, self._endpoint, str(self._home / "milvus.db")]
        with _piped(command, self._env, self._home / "log") as (_, ask, pid):
            yield Served(ask, (pid,))


class BasicMemory(Installed):
    """Full-text search; with vectors where its Python can load extensions into SQLite."""

    name = f"basic-memory {BASIC_MEMORY}"
    packages = (f"basic-memory=={BASIC_MEMORY}",)
    pythons = ("python3.14", "python3.13", "python3.12")

    def index(self) -> None:
        loads = ["python", "-c", "import sqlite3; sqlite3.Connection.enable_load_extension"]
        self._semantic = subprocess.run(loads, env=self._env, stderr=subprocess.DEVNULL, check=False).returncode == 0
        named = {"PROVIDER": "litellm", "MODEL": "openai/nacre", "API_BASE": self._endpoint, "API_KEY": "none"}
        given = {f"BASIC_MEMORY_SEMANTIC_EMBEDDING_{key}": value for key, value in named.items()}
        self._env |= {**given, "BASIC_MEMORY_SEMANTIC_EMBEDDING_DIMENSIONS": str(DIMENSIONS)}
        self._env |= {
            "BASIC_MEMORY_HOME": str(self._notes),
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": str(self._semantic),
        }
        _run(["basic-memory", "reindex"], self._env)

    def fresh(self, query: str) -> None:
        _run(["basic-memory", "tool", "search-notes", query, "--page-size", str(TOP)], self._env)

    @contextmanager
    def serving(self) -> Iterator[Served]:
        with _mcp(["basic-memory", "mcp"], self._env, self._home / "log") as (call, pid):
            asked = {"page_size": TOP, "output_format": "json", "project": "main"}
            yield Served(lambda query: call("search_notes", {"query": query, **asked}), (pid,))


class MemPalace(Installed):
    """Chroma, by meaning and BM25 over what that found."""

    name = f"mempalace {MEMPALACE}"
    packages = (f"mempalace=={MEMPALACE}",)

    def index(self) -> None:
        named = {"MODEL": "openai-compat", "API_URL": self._endpoint, "API_MODEL": "nacre"}
        self._env |= {f"MEMPALACE_EMBEDDING_{key}": value for key, value in named.items()}
        languages = ["--lang", "en,zh-CN"]
        _run(
            ["mempalace", "--palace", self._palace(), "init", str(self._notes), "--yes", "--no-llm", *languages],
            self._env,
        )
        _run(["mempalace", "--palace", self._palace(), "mine", str(self._notes)], self._env)

    def fresh(self, query: str) -> None:
        _run(["mempalace", "--palace", self._palace(), "search", query, "--results", str(TOP)], self._env)

    def _palace(self) -> str:
        return str(self._home / "palace")

    @contextmanager
    def serving(self) -> Iterator[Served]:
        with _mcp(["mempalace-mcp", "--palace", self._palace()], self._env, self._home / "log") as (call, pid):
            yield Served(lambda query: call("mempalace_search", {"query": query[:250], "limit": TOP}), (pid,))


PEERS: tuple[type[Peer], ...] = (Bm25, Nacre, NacreByWords, Qmd, OpenClaw, Memsearch, BasicMemory, MemPalace)


def _run(command: Sequence[str], env: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(command)[-80:]} ended with {done.returncode}: {(done.stderr or done.stdout)[-300:]}"
        )


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _cpu_of_tree(process: int) -> float:
    """CPU seconds of a running process and of those that it started."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        started = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(_cpu_of_tree(int(child)) for child in started)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def endpoint() -> Iterator[tuple[str, int]]:
    """Our models as an OpenAI-compatible service, and its process."""
    port = _free_port()
    command = [sys.executable, "-m", "bench.embeddings", str(port)]
    with (
        tempfile.TemporaryDirectory() as folder,
        _running(command, dict(os.environ), port, Path(folder) / "log") as (_, pid),
    ):
        yield f"http://127.0.0.1:{port}/v1", pid


@contextmanager
def _running(
    command: Sequence[str], env: dict[str, str], port: int, log: Path
) -> Iterator[tuple[http.client.HTTPConnection, int]]:
    """A server that answers: a connection to it, and its process."""
    with (
        log.open("wb") as output,
        _process(command, env, stdin=subprocess.DEVNULL, stdout=output, stderr=output) as process,
    ):
        connection = http.client.HTTPConnection("localhost", port, timeout=60)
        until = time.monotonic() + 120
        while True:
            try:
                connection.connect()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"{command[0]} did not come up: {log.read_text()[-300:]}") from None
                time.sleep(0.2)
        yield connection, process.pid
        connection.close()


@contextmanager
def _piped(
    command: Sequence[str], env: dict[str, str], log: Path
) -> Iterator[tuple[Callable[[Any], None], Callable[[Any], str], int]]:
    """A program of which each line is JSON: how to tell it something, how to tell it and read a line, and its process."""
    pipe = subprocess.PIPE
    with log.open("wb") as errors, _process(command, env, stdin=pipe, stdout=pipe, stderr=errors) as process:
        assert process.stdin
        assert process.stdout
        told, heard = process.stdin, process.stdout

        def tell(value: Any) -> None:
            told.write(json.dumps(value).encode() + b"\n")
            told.flush()

        def ask(value: Any) -> str:
            tell(value)
            while answer := heard.readline().decode("utf8"):
                if '"method":' not in answer[:60]:  # no notification of MCP's
                    return answer
            raise RuntimeError(f"{command[0]} ended: {log.read_text()[-300:]}")

        yield tell, ask, process.pid


@contextmanager
def _mcp(
    command: Sequence[str], env: dict[str, str], log: Path
) -> Iterator[tuple[Callable[[str, dict[str, Any]], str], int]]:
    """An MCP server on its standard input and output: a call of a tool, and its process."""
    with _piped(command, env, log) as (tell, ask, pid):

        def request(method: str, params: dict[str, Any]) -> str:
            answer = ask({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            if "error" in (told := json.loads(answer)):
                raise RuntimeError(f"{method}: {told['error']}")
            return answer

        client = {"name": "bench", "version": "1"}
        request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield lambda tool, arguments: request("tools/call", {"name": tool, "arguments": arguments}), pid


@contextmanager
def _process(command: Sequence[str], env: dict[str, str], **streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, env=env, **streams)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _post(
    connection: http.client.HTTPConnection, path: str, wanted: dict[str, Any], headers: dict[str, str] | None = None
) -> str:
    asked = ("POST", path, json.dumps(wanted), {"Content-Type": "application/json", **(headers or {})})
    try:
        connection.request(*asked)
        answer = connection.getresponse()
    except ConnectionError:  # it was idle for so long that the server closed it
        connection.close()
        connection.request(*asked)
        answer = connection.getresponse()
    text = answer.read().decode("utf8")
    if answer.status != http.HTTPStatus.OK:
        raise RuntimeError(f"{path} answered {answer.status}: {text[:200]}")
    return text


if __name__ == "__main__":
    main()
