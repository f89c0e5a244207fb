"""Vectors made on this machine: small ONNX models on the CPU, each for the scripts it can read.

Every text is run by itself, on one thread, and many texts on many threads. Measured on two cores this costs within a tenth of
what the best padded batch does, and only so is a text's vector always the same: the models quantise each input as a whole, so
in a batch the neighbours shift it (cosine down to 0.97).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from nacre.embed.models import PINS, LocalModel, Pins, installed, scripts
from nacre.embed.protocol import ModelId
from nacre.errors import ModelUnusable
from nacre.i18n import say

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_CHARACTERS_A_TOKEN = 32  # more than any real text has; keeps a huge text from being tokenised to its end


class LocalEmbedder:
    """The models that are installed, loaded when first used. Safe to share between threads."""

    provider = "local"

    def __init__(self, *, threads: int | None = None, env: Mapping[str, str] | None = None, pins: Pins = PINS) -> None:
        self._threads = threads or _cores()
        folders = {model: installed(model.name, env=env, pins=pins) for model in pins.models}
        self._folders = {model: folder for model, folder in folders.items() if folder}
        self._ids = {model: model.id for model in self._folders}
        self.missing = tuple(model for model, folder in folders.items() if not folder)
        self._running: dict[LocalModel, _Running] = {}

    def models(self) -> tuple[ModelId, ...]:
        return tuple(self._ids.values())

    def models_for(self, text: str) -> tuple[ModelId, ...]:
        found = scripts(text)
        return tuple(self._ids[model] for script in found for model in self._folders if model.script == script)

    def embed(
        self,
        model: ModelId,
        texts: Sequence[str],
        *,
        query: bool = False,  # noqa: ARG002 - bge's instruction before queries helped one Chinese set, left one, harmed one
        hurry: bool = False,  # noqa: ARG002 - there is nobody to wait for
    ) -> npt.NDArray[np.float32]:
        import numpy as np

        running = self._run(model)
        if not texts:
            return np.empty((0, model.dims), np.float32)
        if len(texts) == 1 or self._threads == 1:
            return np.stack([running.vector(text) for text in texts])
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(self._threads, len(texts))) as pool:
            return np.stack(list(pool.map(running.vector, texts)))

    def _run(self, wanted: ModelId) -> _Running:
        model = next((model for model, known in self._ids.items() if known == wanted), None)
        if model is None:
            raise ModelUnusable(
                say(
                    f'The model {wanted.name} is not installed. Run "nacre models install".',
                    f"模型 {wanted.name} 尚未安装。请运行“nacre models install”。",
                )
            )
        with _loading:
            if model not in self._running:
                folder = self._folders[model]
                self._running[model] = _shared.get((model.name, folder)) or _Running(model, folder)
                _shared[model.name, folder] = self._running[model]
            return self._running[model]


class _Running:
    """One loaded model."""

    def __init__(self, model: LocalModel, folder: Path) -> None:
        self._model = model
        try:
            self._tokenizer = _tokenizer(model, folder)
            self._session = _session(folder / model.weights.name)
        except ImportError as trouble:
            raise ModelUnusable(
                say(
                    f"The local models cannot run in this Python: {trouble}. Reinstall Nacre, or choose another embed.provider.",
                    f"本地模型无法在此 Python 中运行：{trouble}。请重新安装 Nacre,或另选 embed.provider。",
                )
            ) from trouble
        except Exception as trouble:  # the libraries raise bare Exceptions of their own
            raise ModelUnusable(
                say(
                    f'The model {model.name} in {folder} cannot be loaded. Run "nacre models install": it replaces what is damaged.',
                    f"无法加载 {folder} 中的模型 {model.name}。请运行“nacre models install”：损坏的文件会被替换。",
                )
            ) from trouble

    def vector(self, text: str) -> npt.NDArray[np.float32]:
        import numpy as np

        model = self._model
        text = text[: model.max_tokens * _CHARACTERS_A_TOKEN]
        ids = self._tokenizer.encode(text.lower() if model.lower else text).ids
        tokens = np.array([ids], np.int64)
        given = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        states: npt.NDArray[np.float32] = self._session.run(None, given)[0][0]
        pooled = states[0] if model.pooling == "first" else states.mean(axis=0)
        return np.asarray(pooled / np.linalg.norm(pooled), np.float32)


# Loading costs a third of a second and fifty megabytes: whoever runs a model in this process shares it, as long as anybody does.
_loading = threading.Lock()
_shared: WeakValueDictionary[tuple[str, Path], _Running] = WeakValueDictionary()


def _tokenizer(model: LocalModel, folder: Path) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / model.tokenizer.name))
    tokenizer.no_padding()
    tokenizer.enable_truncation(model.max_tokens)
    return tokenizer


def _session(weights: Path) -> Any:
    # The library counts its uses and reports them over the network; what runs here is nobody else's business.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Texts of every length pass through: memory kept for each would only grow.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    return onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])


def _cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
