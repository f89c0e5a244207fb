"""A name or rare word that is misspelt in a question finds the entries that hold it; one that memory does not know stays weak."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.conftest import lay_out

from nacre.memory import Memory
from nacre.search import candidates
from nacre.search.candidates import edits_between, plain_words

ENTRIES = """
Siobhan Gallagher leads the billing team and approves every refund above 200 euros
Przemek Przybylski maintains the label printer and its drivers
The staging cluster runs on Kubernetes with three small nodes
Grafana dashboards are rebuilt from git every night
Anneliese prefers tea to coffee and never takes calls before nine
The accountant is Wojciech Mazur from the office in Gdynia
Backups go to the Backblaze bucket in Amsterdam every Sunday
Thibault wants the invoices as PDF, not as links
The old warehouse system is called Merlin and is switched off in June
Our shipping partner in Portugal is Transvouga
The lighthouse theme of the shop was drawn by Ottoline Vance
Rabbitmq was replaced by a table in Postgres
Nkechi answers support mail on Mondays and Thursdays
The customs broker in Rotterdam is Hendrikse and Sons
Terraform state lives in its own bucket with versioning
The team lunch is at the Vietnamese place on Wednesday
Dr. Okonkwo reads the lab reports and signs them
The espresso machine is a Rancilio and needs descaling in April
Marguerite does the payroll on the last working day
The alarm code is kept by Bartholomew at the front desk
Elasticsearch is used for the product catalogue only
The electrician from Schwarzwald Elektro comes on the first of May
Ingeborg keeps the keys of the archive room
The newsletter goes out with Buttondown on Fridays
Kowalczyk from the insurance wants photos of the roof
The fiddle leaf fig by the window belongs to Quentin
Prometheus keeps metrics for fifteen days
The translation into Hungarian is done by Zsuzsanna
The courier for fragile parcels is Fulmar Express
Cloudflare handles the domain names and the certificates
The meeting room on the second floor is called Kilimanjaro
Vasquez repairs the forklifts and sends the bill to the warehouse
The allergy list names hazelnut and celery for Pilar
The supplier of cardboard is Papierfabrik Hoffmann
The parking permit was issued by the municipality of Leeuwarden
Ansible playbooks set up the scanners in the warehouse
Gwendolyn is on parental leave until September
The piano in the lobby is tuned by Mr. Fitzgerald
The fire drill is organised by Rasmussen in October
Invoices for the Helsinki customers carry the Finnish reference number
The print shop near the station closes at six
The quarterly report goes to the bank on the tenth
Spare bulbs lie in the cupboard next to the stairs
The team agreed to answer every customer within one day
Release notes are written on the day before the release
""".strip().splitlines()
# A question with a misspelt word, and a word of the entry that answers it.
MISSPELT = (
    ("who is Siobahn?", "Siobhan"),
    ("what does Przybylsky look after", "Przybylski"),
    ("where does kuberentes run", "Kubernetes"),
    ("how are the graffana boards made", "Grafana"),
    ("what does Annelise drink", "Anneliese"),
    ("where does Wojceich work", "Wojciech"),
    ("what goes to Backblase", "Backblaze"),
    ("in which form does Thibaut want them", "Thibault"),
    ("what is Merlyn", "Merlin"),
    ("who is Transvuoga", "Transvouga"),
    ("what did Otoline draw", "Ottoline"),
    ("what replaced rabitmq", "Rabbitmq"),
    ("when does Nkecki answer", "Nkechi"),
    ("what does Hendriske do", "Hendrikse"),
    ("where is the terrafrom state", "Terraform"),
    ("where is the vietnamise place", "Vietnamese"),
    ("what does Okonkow sign", "Okonkwo"),
    ("when is the Rancillio due", "Rancilio"),
    ("when does Margerite pay us", "Marguerite"),
    ("what does Bartolomew keep", "Bartholomew"),
    ("what do we use elasticsaerch for", "Elasticsearch"),
    ("when does Schwartzwald come", "Schwarzwald"),
    ("what does Ingebrog have", "Ingeborg"),
    ("what is butondown for", "Buttondown"),
    ("what does Kowalzcyk want", "Kowalczyk"),
    ("what belongs to Quentn", "Quentin"),
    ("how long does promethues keep its data", "Prometheus"),
    ("what does Zsuzsana do", "Zsuzsanna"),
    ("when do we use Fullmar", "Fulmar"),
    ("what is at cloudfare", "Cloudflare"),
    ("where is Kilimanjarro's room", "Kilimanjaro"),
    ("where is Kilamanjaro", "Kilimanjaro"),
    ("what does Vazquez mend", "Vasquez"),
    ("who may not eat hazlenut", "hazelnut"),
    ("what do we buy from Papierfabirk", "Papierfabrik"),
    ("what did Leeuwaarden issue", "Leeuwarden"),
    ("what does ansibel set up", "Ansible"),
    ("when is Gwendolin back", "Gwendolyn"),
    ("what does Fitzgerlad tune", "Fitzgerald"),
    ("what does Rasmusen organise", "Rasmussen"),
)
# Questions for something that memory has never heard of, in words that are spelt as they should be.
UNKNOWN = """
what does Dorothea like to eat
where does Lindqvist live
who looks after the swimming pool
what is the password of the trampoline club
when was the giraffe fed
how much is a ticket to Valparaiso
who won the chess tournament
what did Montgomery say about the orchard
where did we bury the hamster
what colour is the tractor
who plays the saxophone
when does the planetarium open
what is the Marchetti contract about
how do I reset the thermostat
which mushroom is poisonous
where is the Copenhagen depot
what does Xiomara study
who is allergic to penicillin
how tall is the obelisk
what is the name of the bulldog
""".strip().splitlines()


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    root = tmp_path_factory.mktemp("spelling") / "ws"
    days = [ENTRIES[start : start + 9] for start in range(0, len(ENTRIES), 9)]
    lay_out(
        root,
        {
            f"memory/2026-03-0{number}.md": "\n".join(
                [f"# 2026-03-0{number}", "", *(f"- {line}" for line in lines), ""]
            )
            for number, lines in enumerate(days, 1)
        },
    )
    return Memory.open(root, now="2026-03-10")


def test_nine_of_ten_misspelt_names_are_found_among_the_first_five(memory: Memory) -> None:
    lost = [
        question
        for question, word in MISSPELT
        if not any(word in hit.snippet for hit in memory.search(question, 5, mode="text"))
    ]
    assert len(lost) <= len(MISSPELT) // 10, lost


def test_what_memory_has_never_heard_of_stays_weak(memory: Memory) -> None:
    reports = [memory.ask(question, 5, mode="text") for question in UNKNOWN]
    assert sum(report.abstained for report in reports) >= 17  # "allergic" is near "allergy"


def test_a_question_whose_words_are_all_in_memory_is_not_looked_at(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def near_words(_db: object, _table: str, word: str, _most: int) -> dict[str, int]:
        asked.append(word)
        return {}

    monkeypatch.setattr(candidates, "near_words", near_words)
    memory.search("where does Terraform keep its state", mode="text")
    assert asked == []
    memory.search("where does Terrafrom keep its state", mode="text")
    assert asked == ["terrafrom"]


def test_a_group_learns_nothing_of_names_that_it_may_not_see(tmp_path: Path) -> None:
    sections = "\n## 18:00 session:aa11bb22 | 4 messages | group:climbers\n- The climbers meet at the north wall\n"
    lay_out(tmp_path / "ws", {"memory/2026-03-01.md": f"# 2026-03-01\n\n- Siobhan painted the wall\n{sections}"})
    scores = []
    for name in ("Siobahn", "Quetzal"):  # near a private name, and near none
        with Memory.open(tmp_path / "ws", scope="group:climbers") as memory:
            scores.append([hit.score for hit in memory.search(f"does {name} know the wall", mode="text", min_score=0)])
    assert scores[0] == scores[1] != []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("what does Siobahn's landlord want", ["siobahn", "landlord"]),
        ("Siobahn的邮箱是多少", ["siobahn"]),
        ("is Przybylský in, or Kubernets?", ["przybylski", "kubernet"]),
        ("getUserNmae in src/mian.py of v2.10.1, user_naem, pre-comit, 2026-03-01, HTTPX, ok@exmaple.com", []),
        ("why is it negative and considered political", []),  # what English endings show to be no names
        ("部署失败的原因是什么", []),
    ],
)
def test_only_plain_words_can_be_misspelt(text: str, words: list[str]) -> None:
    assert plain_words(text) == words


@given(st.text("abc", max_size=7), st.text("abc", max_size=7), st.sampled_from([1, 2]))
def test_edits_are_counted_as_far_as_they_matter(first: str, second: str, most: int) -> None:
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i in range(len(first) + 1):
        for j in range(len(second) + 1):
            ways = [i + j] if 0 in (i, j) else [table[i - 1][j] + 1, table[i][j - 1] + 1]
            if i and j:
                ways.append(table[i - 1][j - 1] + (first[i - 1] != second[j - 1]))
            if i > 1 and j > 1 and first[i - 2 : i] == second[j - 2 : j][::-1]:
                ways.append(table[i - 2][j - 2] + 1)
            table[i][j] = min(ways)
    assert min(edits_between(first, second, most), most + 1) == min(table[-1][-1], most + 1)
