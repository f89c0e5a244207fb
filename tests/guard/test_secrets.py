from __future__ import annotations

import random
import string
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.errors import SecretRefused
from nacre.guard.secrets import redact, refuse_secrets
from nacre.i18n import use_language

HEX = "0123456789abcdef"
LETTERS = string.ascii_letters + string.digits


def characters(count: int, alphabet: str = LETTERS) -> str:
    """The same random characters each time: invented at run time, so that no scanner finds a secret here."""
    return "".join(random.Random(f"{count}{alphabet}").choices(alphabet, k=count))


TOLD = [
    ("the staging password is {}", "hunter2", "password"),
    ("my pin is {}", "4711", "pin"),
    ("login with root / {}", "toor", "password"),
    ("the wifi password is {}", "sunflower", "password"),
    ("give the guests the wifi when they come, {}", "otter_plum_77", "password"),
    ("I changed the password to {} yesterday", "Blue$ky9", "password"),
    ("username bob password {}", "b0bcat!", "password"),
    ("credentials: admin / {}", "s3cret!x", "password"),
    ("your code is {}", "482913", "one-time code"),
    ("G-{} is your verification code", "482913", "one-time code"),
    ("passphrase is {}", "correct horse battery staple", "passphrase"),
    ("密码是 {}", "hunter2", "password"),
    ("新 wifi 密码:{},别告诉别人", "xigua-0417", "password"),
    ("密码改成了 {}", "Blue7788", "password"),
    ("数据库口令为 {}", "Tiger#99", "password"),
    ("您的验证码为 {},5分钟内有效", "338291", "one-time code"),
    ("API密钥:{}", characters(32), "key"),
    ("pwd是{}", "Foo99bar", "password"),
]
CONFIGURED = [
    ("export DB_PASSWORD={}", "swordfish", "password"),
    ('  "password": "{}",', "swordfish", "password"),
    ("spring.datasource.password={}", "Foo99bar", "password"),
    ("<password>{}</password>", "Foo99bar", "password"),
    ('db_password = os.getenv("APP_DB") or "{}"', "Kv7mLe!2x", "password"),
    ('password: str = "{}"', "Kv7mLe!2x", "password"),
    ("secret_key: {}", characters(50), "secret"),
    ("client_secret={}", characters(24), "secret"),
    ("aws_secret_access_key = {}", characters(40), "secret"),
    ("X-Api-Key: {}", characters(32, HEX), "key"),
    ("https://x.test/?api_key={}&page=2", characters(32, HEX), "key"),
    ("Authorization: Bearer {}", characters(40), "authorization"),
    ("Cookie: theme=dark; sessionid={}; lang=en", characters(32), "session cookie"),
    ("postgres://app:{}@db.internal:5432/app", "s3cr3t", "connection string"),
    ("git clone https://bob:{}@git.test/x.git", "hunter2", "password"),
    ("Server=db;User Id=sa;Password={};Encrypt=true", "Tr0ub4dor", "password"),
    ("mysql -u root -p{} shop", "s3cr3t", "password"),
    ("curl -u bob:{} https://x.test", "hunter2", "password"),
    ("sshpass -p '{}' ssh root@host", "Xy12z!", "password"),
    ("backup --password={} --verbose", "Xy12z!", "password"),
    ("CREATE USER bob IDENTIFIED BY '{}';", "Abc123", "password"),
    ("ALTER ROLE app WITH LOGIN PASSWORD '{}';", "Abc123", "password"),
    ("https://hooks.slack.com/services/{}", "T" + characters(9) + "/B" + characters(9) + "/" + characters(24), "slack webhook"),
    ("https://oapi.dingtalk.com/robot/send?access_token={}", characters(64, HEX), "dingtalk webhook"),
]  # fmt: skip
HARMLESS = """
use <your-key> here
api_key = "<your-key>"
token: xxxx-xxxx
password: ${DB_PASSWORD}
password = os.environ["DB_PASSWORD"]
const token = process.env.TOKEN
password: changeme
password = "********"
def login(user: str, password: str) -> None:
password: Optional[str] = None
self.password = password
token = get_token(user)
if (password !== confirmPassword) {
<input type="password" name="password">
the password manager is 1Password
the password field is required
The password is stored hashed in the database.
the password is too short
my password is not working
Password must be at least 8 characters
token budget 4000
max_tokens: 4096
token_type: bearer
secret santa is on Friday
the key is to practise daily
the secret is patience
密码管理器很好用
密码不能为空
密码是 bcrypt 加密的
验证码过期了
commit 3f2a9c1b7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
id 550e8400-e29b-41d4-a716-446655440000
color #ff00aa and #123456, version 1.2.3-beta.4, see JIRA-1234
status code is 404
exit code: 137
the zip code is 94110
GPIO pin is 17
there are 482913 users
Authorization: Bearer <token>
sign in with Google / GitHub
log in as admin/moderator roles
docker run -p 8080:80 nginx
ssh -p 2222 host
postgres://user:password@localhost/db
the AKIA prefix marks AWS keys, sk-... those of OpenAI
src/nacre/guard/assignments.py and node_modules/.pnpm/@babel+core@7.22.5
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4
toolu_01A2b3C4d5E6f7G8h9J0kLmN
primary key: user_id
key=lambda x: x[1]
access key: Alt+Shift+1
""".strip().splitlines()


@pytest.mark.parametrize(("sentence", "value", "kind"), TOLD + CONFIGURED)
def test_the_value_goes_and_the_fact_around_it_stays(sentence: str, value: str, kind: str) -> None:
    text = sentence.format(value) if "{}" in sentence else sentence
    redaction = redact(text)
    assert redaction.text == sentence.format(f"[redacted: {kind}]")
    (finding,) = redaction.findings
    assert text[finding.start : finding.end] == value


@pytest.mark.parametrize("line", HARMLESS)
def test_what_only_speaks_of_secrets_is_left_alone(line: str) -> None:
    assert redact(line).text == line


def test_a_value_named_once_is_taken_out_wherever_it_stands() -> None:
    text = "root/Wq81zRt#k works everywhere, root password:Wq81zRt#k"
    assert "Wq81zRt#k" not in redact(text).text
    assert len(redact(text).findings) == 2


@pytest.mark.parametrize(
    ("text", "value", "times"),
    [
        ("password: Opal77river\n...\nlater he typed Opal77river again, then (Opal77river).", "Opal77river", 3),
        ("the wifi password is sunflower\nso: sunflower", "sunflower", 2),
        ("密码是hunter22，别忘了hunter22", "hunter22", 2),
        ("your code is 481220. I entered 481220.", "481220", 2),
        ("p\u200bassword: Ｏｐａｌ７７ｒｉｖｅｒ and Opal77river", "Opal77river", 2),
    ],
)
def test_a_value_that_was_found_goes_wherever_it_is_repeated(text: str, value: str, times: int) -> None:
    redaction = redact(text)
    assert value not in redaction.text
    assert len(redaction.findings) == times


def test_a_plain_word_that_is_part_of_another_is_no_repetition() -> None:
    text = "the wifi password is sunflower\nsunflowers and sunflower-oil stay"
    assert redact(text).text.endswith("sunflowers and sunflower-oil stay")


def test_a_finding_never_holds_the_value() -> None:
    redaction = redact("the staging password is hunter2")
    assert "hunter2" not in repr(redaction)


@pytest.mark.parametrize(("language", "words"), [("en", "Not stored"), ("zh", "未保存")])
def test_a_refusal_names_the_kind_and_never_the_value(language: str, words: str) -> None:
    use_language(language)
    try:
        with pytest.raises(SecretRefused) as refusal:
            refuse_secrets("the staging password is hunter2")
    finally:
        use_language("auto")
    assert words in str(refusal.value)
    assert "password" in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


def test_text_without_a_secret_is_not_refused() -> None:
    refuse_secrets("we moved the weekly review to Thursday")


SECRETS = [sentence.format(value) for sentence, value, _ in TOLD + CONFIGURED]
PIECES = st.one_of(
    st.sampled_from([*SECRETS, *HARMLESS]),
    st.text(max_size=30),
    st.sampled_from(
        ["\n", " ", ", ", "; ", ": ", "=", '"', "password", "token", "密码", "[redacted: ", "]", "[redacted: password]"]
    ),
)
TEXTS = st.lists(PIECES, max_size=8).map("".join)


@given(TEXTS)
def test_a_second_pass_finds_nothing(text: str) -> None:
    assert redact(redact(text).text).findings == ()


@given(TEXTS)
def test_the_findings_rebuild_the_redacted_text(text: str) -> None:
    redaction = redact(text)
    rebuilt, place = "", 0
    for finding in redaction.findings:
        assert place <= finding.start < finding.end <= len(text)
        rebuilt += text[place : finding.start] + f"[redacted: {finding.kind}]"
        place = finding.end
    assert rebuilt + text[place:] == redaction.text


WORDS = "we moved the weekly review from friday to thursday because people were tired and it was late so nobody came".split()


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map(" ".join))
def test_ordinary_prose_is_untouched(text: str) -> None:
    assert redact(text).text == text


HOSTILE = [
    "password: ", "password is ", "password for a b ", "A1b2", "eyJaaaaaaaaa.", "sk-", "http://a:b", "token=", "<password>", "cookie: sid=", '"',
    "-----BEGIN PRIVATE" + " KEY-----\n", "mysql a ", "identified by ", "密码是", "your code is ", "seed: abc ", "[redacted: password] ", "MDAw",
    "a", "0", "_", "-", " ", "\n", ".", ":", "=", "|", "{", "*", "\\", "\u200b", "ａ", "pа", "p a s s ", "password,", "password:\n", "key:", "a,password\n",
    "name: password ", "| password | x1y2z3 ", "admin/", "log in as bob ", "insert into a (password) values (", "MIIEpAIBAAK", "-----END PRIVATE" + " KEY-----\n",
    "-----BEGIN CERTIFICATE-----", "passphrase is abc ", "recovery codes:\nab12-cd34\n", "пароль от a ", "código ", "x1y2z3 is the ", "AKIA", "?key=", "$6$a$",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_costs_in_proportion_to_its_length(unit: str) -> None:
    def cost(size: int) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        best = 1e9
        for _ in range(3):
            begun = time.process_time()
            redact(text)
            best = min(best, time.process_time() - begun)
        return best

    redact(unit)
    # Four times the text would cost sixteen times as much if any expression looked back over all of it.
    assert cost(32_000) < 10 * cost(8_000) + 0.02


def test_one_line_of_a_million_characters_is_read_in_about_a_second() -> None:
    words = [*WORDS, "key", "token", "code", "password", "https://x.test/a?b=c"]
    line = " ".join(random.Random(5).choices(words, k=200_000))[:1_000_000]
    begun = time.process_time()
    redact(line)
    # Ten times what it takes on a machine with nothing else to do.
    assert time.process_time() - begun < 10


def test_importing_the_guard_compiles_nothing_and_loads_nothing_heavy() -> None:
    code = (
        "import sys, nacre.guard.secrets, nacre.guard.sanitise; from nacre.guard.values import pattern; "
        "print(pattern.cache_info().currsize, [m for m in ('numpy', 'asyncio', 'tokenizers') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, encoding="utf-8")
    assert said.stdout.strip() == "0 []"


@pytest.mark.parametrize("value", ["supersecret99", "hunter2supersecret99", "secret123", "mytoken2024"])
def test_a_password_that_speaks_of_itself_is_one_all_the_same(value: str) -> None:
    assert value not in redact(f"password: {value}").text


@pytest.mark.parametrize("name", ["user_password", "password2", "oauth20"])
def test_the_name_of_a_password_is_none(name: str) -> None:
    assert name in redact(f"password: {name}").text


def test_a_machine_named_after_the_wifi_is_no_password() -> None:
    assert redact("tell him the wifi is slow, node-exporter-2 drops").findings == ()
