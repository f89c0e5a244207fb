"""Trouble of every kind as rows with the command that mends each; proofs that the whole way works; and what can be mended safely."""

from __future__ import annotations

from nacre.doctor.examine import examine
from nacre.doctor.mend import mend
from nacre.doctor.proof import try_out

__all__ = ["examine", "mend", "try_out"]
