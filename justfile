# Chores. `just` lists them; each is one command that also works without just.

default:
    @just --list

# set up and run every check, as CI does
test *args:
    ./test {{args}}

# style and types alone
check:
    .venv/bin/python -m ruff check .
    .venv/bin/python -m ruff format --check .
    .venv/bin/python -m mypy
    .venv/bin/lint-imports --no-cache

# format and fix what can be fixed
fix:
    .venv/bin/python -m ruff check --fix .
    .venv/bin/python -m ruff format .

# how much of the source the tests run
coverage:
    .venv/bin/python -m pytest -n 2 --dist worksteal --cov=nacre --cov-report=term

# the slow checks: faults at every call, months of jobs
long:
    ./test -m long

# pages of the documentation that are made from the code, and the words of the plugins
docs:
    .venv/bin/python docs/generate.py

# the terminal pictures of the READMEs, drawn from a real session
picture:
    .venv/bin/python docs/picture.py

# the page in a real Chromium, under axe-core and schemathesis
browser *args:
    ./test-browser {{args}}

# the pictures of the page
screenshots:
    PYTHONPATH=.venv/browser .venv/bin/python docs/screenshots.py

# the agents themselves, from npm, against a stub model
integration agent="claude_code":
    .venv/bin/python -m tests.integration.{{agent}}

# whether a folder of transcripts still becomes the same bytes
replay *args:
    .venv/bin/python -m bench.replay {{args}}

# train the classifiers anew and print their scores
train:
    .venv/bin/python training/train.py

# lock the dependencies anew
lock:
    requirements/lock
