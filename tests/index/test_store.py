from __future__ import annotations

import gc

from nacre.index import store


def test_a_connection_that_could_not_be_opened_goes_quietly() -> None:
    """Pytest turns an error in a finaliser into a failure of the test."""
    made = store._Connection.__new__(store._Connection)
    del made
    gc.collect()
