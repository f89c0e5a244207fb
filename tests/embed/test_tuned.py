"""Copies of the installed models that were tuned for a task."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from nacre.embed.local import LocalEmbedder, recall_weights
from nacre.embed.models import PINS, LocalModel, models_folder
from nacre.embed.tuned import MATRICES, _weights_in, open_session, read_weights, tuned_model

sys.path.insert(0, str(Path(__file__).parents[2] / "training"))

import data


def bytes_of(model: LocalModel) -> bytes:
    return (models_folder() / model.folder_name / model.weights.name).read_bytes()


@pytest.mark.parametrize("model", PINS.models, ids=lambda model: model.name)
def test_the_weights_for_search_were_trained_on_this_corpus(model: LocalModel) -> None:
    about, _ = read_weights(recall_weights(model))
    assert about["model"] == model.id.hash
    assert about["corpus"] == data.question_digest("zh" if model.script == "Han" else "en")


@pytest.mark.parametrize("model", PINS.models, ids=lambda model: model.name)
@pytest.mark.usefixtures("local")
def test_a_model_to_which_nothing_is_added_stays_as_it_is(model: LocalModel) -> None:
    whole = bytes_of(model)
    about, arrays = read_weights(recall_weights(model))
    places = _weights_in(whole)
    untouched = {name: np.zeros_like(value) for name, value in arrays.items()}
    for number, layer in enumerate(about["layers"]):
        for name, place in zip(
            ("first weight", "first bias", "second weight", "second bias"), layer["norms"], strict=True
        ):
            found = places[place]
            untouched[f"{number} {name}"] = np.frombuffer(whole, np.float32, len(found) // 4, found.start)
    assert tuned_model(whole, about, untouched) == whole


@pytest.mark.usefixtures("local")
def test_only_the_tuned_layers_of_a_copy_differ() -> None:
    model = PINS.models[0]
    whole = bytes_of(model)
    tuning = read_weights(recall_weights(model))
    copy = tuned_model(whole, *tuning)
    assert len(copy) == len(whole)
    places = _weights_in(whole)
    changed = {
        name for name, place in places.items() if copy[place.start : place.stop] != whole[place.start : place.stop]
    }
    layers = tuning[0]["layers"]
    matrices = {f"{layer['matrices'][name]}_quantized" for layer in layers for name in MATRICES}
    assert matrices <= changed
    assert changed <= matrices | {name for layer in layers for name in (*layer["biases"].values(), *layer["norms"])}
    assert [output.name for output in open_session(copy).get_outputs()] == ["last_hidden_state"]


def test_a_question_is_led_to_what_answers_it_without_its_words(local: LocalEmbedder) -> None:
    notes = [
        "Marta: can't do shellfish, my throat closes up",
        "Marta: the shelf in the hall is up at last",
        "Joel: mussels were great tonight",
    ]
    question = "Which foods is Marta allergic to?"

    def likeness(embedder: LocalEmbedder) -> list[float]:
        (model,) = embedder.models_for(notes[0])
        return [float(value) for value in embedder.embed(model, notes) @ embedder.embed(model, [question])[0]]

    plain, tuned = likeness(local), likeness(LocalEmbedder(tuned=True))
    assert max(tuned) == tuned[0]
    assert tuned[0] - max(tuned[1:]) > plain[0] - max(plain[1:])


def test_vectors_of_search_are_never_compared_with_those_of_the_plain_model(local: LocalEmbedder) -> None:
    assert not {model.hash for model in local.models()} & {model.hash for model in LocalEmbedder(tuned=True).models()}
