"""What a daemon starts when jobs are due: one look, in a process of its own.

`python -m nacre.daemon.errand [--only-queued] WORKSPACE [TRANSCRIPT…]`
"""

from __future__ import annotations

import sys

from nacre.errors import Locked, NacreError

ONLY_QUEUED = "--only-queued"  # the jobs are not run at their times, but what hooks queued is captured


def main(arguments: list[str]) -> int:
    """Run what is due in a workspace; transcripts are those whose agents said that they are over."""
    from nacre.jobs.ticking import tick
    from nacre.memory import Memory

    timed = arguments[:1] != [ONLY_QUEUED]
    root, *over = arguments if timed else arguments[1:]
    try:
        with Memory.open(root) as memory:
            done = tick(memory, ended=over, timed=timed)
    except Locked:
        return Locked.exit_code  # another runner is at it, which is as good
    except NacreError as trouble:
        return trouble.exit_code
    return int(any(one.trouble for one in done.reports))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
