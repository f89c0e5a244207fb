"""Vectors made on this machine: small ONNX models on the CPU, each for the scripts it can read.

Every text is run by itself, on one thread, and many texts on many threads. Measured on two cores this costs within a tenth of
what the best padded batch does, and only so is a text's vector always the same: the models quantise each input as a whole, so
in a batch the neighbours shift it (cosine down to 0.97).

Search uses copies of the models that were tuned so that a question lies near what answers it (training/tune_recall.py); what judges
sentences uses the models as they are.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from nacre.embed.models import PINS, LocalModel, ModelId, has_all_files, models_folder, scripts
from nacre.embed.tuned import open_session, read_weights, tuned_model
from nacre.errors import ModelUnusable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_CHARACTERS_A_TOKEN = 32  # more than any real text has; keeps a huge text from being tokenised to its end


class LocalEmbedder:
    """The models that are installed, loaded when first used. Safe to share between threads."""

    provider = "local"

    def __init__(
        self, *, tuned: bool = False, threads: int | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self._threads = threads or cores or 1
        self._root = models_folder(env)
        there = [model for model in PINS.models if has_all_files(model, self._root / model.folder_name)]
        self._models = {_tuned_id(model) if tuned else model.id: model for model in there}
        self.missing = tuple(model for model in PINS.models if model not in there)
        self._running: dict[ModelId, _Running] = {}

    def models(self) -> tuple[ModelId, ...]:
        return tuple(self._models)

    def models_for(self, text: str) -> tuple[ModelId, ...]:
        return tuple(key for script in scripts(text) for key, model in self._models.items() if model.script == script)

    def embed(
        self,
        model: ModelId,
        texts: Sequence[str],
        *,
        query: bool = False,  # noqa: ARG002 - both kinds of text lie in one space
        hurry: bool = False,  # noqa: ARG002 - there is nobody to wait for
    ) -> npt.NDArray[np.float32]:
        import numpy as np

        if model not in self._models:
            raise ModelUnusable(
                f'The model {model.name} is not installed. Run "nacre models install".',
                f"模型 {model.name} 尚未安装。请运行“nacre models install”。",
            )
        with _loading:
            running = self._running.get(model)
            if running is None:
                pinned = self._models[model]
                folder, tuned = self._root / pinned.folder_name, model != pinned.id
                running = _shared.get((folder, tuned)) or _Running(pinned, folder, tuned=tuned)
                self._running[model] = _shared[folder, tuned] = running
        if not texts:
            return np.empty((0, model.dims), np.float32)
        if len(texts) == 1 or self._threads == 1:
            return np.stack([running.vector(text) for text in texts])
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(self._threads, len(texts))) as pool:
            return np.stack(list(pool.map(running.vector, texts)))


class _Running:
    def __init__(self, model: LocalModel, folder: Path, *, tuned: bool) -> None:
        self._model = model
        try:
            from tokenizers import Tokenizer

            self._tokenizer = Tokenizer.from_file(str(folder / model.tokenizer.name))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(model.max_tokens)
            weights = folder / model.weights.name
            tuning = read_weights(recall_weights(model)) if tuned else None
            self._session = open_session(tuned_model(weights.read_bytes(), *tuning) if tuning else str(weights))
        except ImportError as error:
            raise ModelUnusable(
                f"The local models cannot run in this Python: {error}. Reinstall Nacre, or choose another embed.provider.",
                f"本地模型无法在此 Python 中运行：{error}。请重新安装 Nacre，或另选 embed.provider。",
            ) from error
        except Exception as error:  # the libraries raise bare Exceptions of their own
            raise ModelUnusable(
                f'The model {model.name} in {folder} cannot be loaded. Run "nacre models install" to replace the damaged files.',
                f"无法加载 {folder} 中的模型 {model.name}。请运行“nacre models install”替换损坏的文件。",
            ) from error

    def vector(self, text: str) -> npt.NDArray[np.float32]:
        import numpy as np

        model = self._model
        text = text[: model.max_tokens * _CHARACTERS_A_TOKEN]
        tokens = np.array([self._tokenizer.encode(text.lower() if model.lower else text).ids], np.int64)
        inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        states: npt.NDArray[np.float32] = self._session.run(None, inputs)[0][0]
        pooled = states[0] if model.pooling == "first" else states.mean(axis=0)
        return np.asarray(pooled / np.linalg.norm(pooled), np.float32)


def recall_weights(model: LocalModel) -> Traversable:
    """The file with what was added to the upper layers of a model for search."""
    return resources.files("nacre.embed").joinpath("weights", f"recall-{model.name}.npz")


@cache
def _tuned_id(model: LocalModel) -> ModelId:
    added = hashlib.sha256(recall_weights(model).read_bytes()).hexdigest()
    return ModelId(model.name, hashlib.sha256(f"{model.id.hash} {added}".encode()).hexdigest()[:16], model.dims)


# Loading costs a third of a second and fifty megabytes: whoever runs a model in this process shares it, as long as anybody does.
_loading = threading.Lock()
_shared: WeakValueDictionary[tuple[Path, bool], _Running] = WeakValueDictionary()
