"""Models tuned for a task: what training added to the upper layers of an installed model is written into a copy of its weights.

The copy is as large and as fast as the model itself; what the package brings for it are small matrices.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float32]

MATRICES = ("query", "key", "value", "attention", "inner", "outer")
NORMS = ("first weight", "first bias", "second weight", "second bias")

# Numbers of the fields of an ONNX file that hold the weights (onnx.proto).
_GRAPH, _INITIALIZER, _FLOATS, _NAME, _RAW = 7, 5, 4, 8, 9


def read_weights(file: Traversable) -> tuple[dict[str, Any], dict[str, Array]]:
    """A file of weights in the package: what it says of itself, and its arrays."""
    import numpy as np

    with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as stored:
        about = json.loads(bytes(stored["about"]).decode("utf-8"))
        return about, {key: stored[key].astype(np.float32) for key in stored.files if key != "about"}


def open_session(model: str | bytes) -> Any:
    """A model, by its path or its bytes, ready to run on one thread."""
    # onnxruntime counts its uses and reports them over the network; what runs here is nobody else's business.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # noqa: TID251

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Texts of every length pass through: memory kept for each would only grow.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def tuned_model(model: bytes, about: dict[str, Any], arrays: dict[str, Array]) -> bytes:
    """The bytes of a model with what training added to the weights of its upper layers."""
    import numpy as np

    data = bytearray(model)
    places = _weights_in(data)
    for number, layer in enumerate(about["layers"]):
        for name in MATRICES:
            added: Array = arrays[f"{number} {name} down"] @ arrays[f"{number} {name} up"]
            whole = places[f"{layer['matrices'][name]}_quantized"]
            scale = places[f"{layer['matrices'][name]}_scale"]
            steps = np.ravel(added / np.frombuffer(data, np.float32, len(scale) // 4, scale.start))
            steps = steps + np.frombuffer(data, np.int8, len(whole), whole.start)
            data[whole.start : whole.stop] = np.clip(np.rint(steps), -128, 127).astype(np.int8).tobytes()
            bias = places[layer["biases"][name]]
            values = np.frombuffer(data, np.float32, len(bias) // 4, bias.start) + arrays[f"{number} {name} bias"]
            data[bias.start : bias.stop] = values.tobytes()
        for name, place in zip(NORMS, layer["norms"], strict=True):
            data[places[place].start : places[place].stop] = arrays[f"{number} {name}"].tobytes()
    return bytes(data)


def _weights_in(model: bytes | bytearray) -> dict[str, range]:
    """Where the numbers of each weight stand in the bytes of an ONNX file."""
    places = {}
    for key, graph in _fields(model, range(len(model))):
        for inner, weight in _fields(model, graph) if key == _GRAPH else ():
            if inner == _INITIALIZER:
                parts = dict(_fields(model, weight))
                name = bytes(model[parts[_NAME].start : parts[_NAME].stop]).decode()
                places[name] = parts.get(_RAW) or parts.get(_FLOATS) or range(0)
    return places


def _fields(data: bytes | bytearray, within: range) -> Iterator[tuple[int, range]]:
    """The fields of a protobuf message with the places of their values."""
    at = within.start

    def number() -> int:
        nonlocal at
        value = shift = 0
        while data[at] & 128:
            value, shift, at = value | (data[at] & 127) << shift, shift + 7, at + 1
        at += 1
        return value | data[at - 1] << shift

    while at < within.stop:
        key = number()
        start = at
        if key & 7 == 0:
            number()
        else:
            size = number() if key & 7 == 2 else 8 if key & 7 == 1 else 4
            start, at = at, at + size
        yield key >> 3, range(start, at)
