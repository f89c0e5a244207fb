"""What many tests share: English sentences, and an embedder that says what it is."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, settings

from nacre.embed.models import ModelId, models_folder, scripts
from nacre.i18n import use_language
from nacre.text.tokens import tokens

# Where nobody watches the same examples every time; at a desk new ones, which is how new bugs are found. No deadlines: the machine may be busy.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture
def memory_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder where fsync costs nothing, for tests that make hundreds of workspaces."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="nacre-test-") as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def _speak_english() -> None:
    use_language("en")


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the settings of whoever runs it; the models stay where they are installed."""
    models = str(models_folder())
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith(("NACRE_", "OPENCLAW_", "XDG_"))]:
        monkeypatch.delenv(name)
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "VOYAGE_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):  # what jobs do is not shown on the desktop of whoever runs the tests
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("NACRE_MODELS_PATH", models)
    monkeypatch.setenv("NACRE_LANGUAGE", "en")


class FakeEmbedder:
    """Not a model: a hashed bag of words. Deterministic, one "model" for each script, another `edition` is another model."""

    def __init__(self, edition: str = "one", dims: int = 64) -> None:
        self.provider = "fake"
        self.latin = ModelId("fake-latin", f"latin-{edition}", dims)
        self.han = ModelId("fake-han", f"han-{edition}", dims + 36)
        self.asked = 0  # texts embedded so far
        self.fail_after: int | None = None

    def models(self) -> tuple[ModelId, ...]:
        return (self.latin, self.han)

    def models_for(self, text: str) -> tuple[ModelId, ...]:
        return tuple(self.latin if script == "Latin" else self.han for script in scripts(text))

    def embed(
        self, model: ModelId, texts: Sequence[str], *, query: bool = False, hurry: bool = False
    ) -> npt.NDArray[np.float32]:
        if self.fail_after is not None and self.asked >= self.fail_after:
            raise KeyboardInterrupt
        self.asked += len(texts)
        rows = np.zeros((len(texts), model.dims), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for token in tokens(text):
                digest = hashlib.blake2b(f"{model.hash} {token}".encode(), digest_size=8).digest()
                row[int.from_bytes(digest[:4], "little") % model.dims] += 1 if digest[4] & 1 else -1
            row[0] += 0.01  # no text is nowhere
        lengths: npt.NDArray[np.float32] = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / np.maximum(lengths, 1e-9)).astype(np.float32)


@pytest.fixture
def fake_embedder() -> type[FakeEmbedder]:
    return FakeEmbedder
