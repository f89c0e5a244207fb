"""The one exit point: a known error is one line and its exit code, an unknown one is a bug and shows itself."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    if not sys.flags.safe_path:
        # "python -m" looks for modules in the current folder first, which may be a clone that nobody has trusted.
        del sys.path[0]
    # One thread is ten times cheaper for the small scans of a search; bulk embedding has threads of its own.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # A command lives for seconds and makes hardly any cycles; looking for them took a third of reading a long ledger.
    gc.set_threshold(100_000, 20, 50)
    try:
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:  # while modules are still being loaded
        code = 130
    # At its end Python looks through everything once more for cycles: a tenth of what a short command costs.
    gc.freeze()
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    code = None
    if "hook" in arguments or "search" in arguments:
        from nacre.daemon import fast

        code = fast.run(arguments)
    if code is not None:  # everything is written and nothing is open: taking Python apart would only take time
        if sys.stderr is not None:
            sys.stderr.flush()
        os._exit(code)
    from nacre.cli.main import run

    return run(arguments)


if __name__ == "__main__":
    main()
