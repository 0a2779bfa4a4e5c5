"""Which families of transformers have relevance? Tiny random models with a head, against one graph of autograd.

    relevance_families.py [NAME]...      prints the table in docs/python.md, or what happens to these families

A family has relevance if its layers are found (attnflow.anatomy), their terms sum to the residual stream, and the
gradient that goes back layer by layer equals that of one graph of the whole model, by AttnLRP's rules and without. It
is refused with a reason, or it is an error.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import torch
import transformers
from architectures import FAMILIES, Family
from attnflow.backend import Asked, Backend, OtherFacts
from attnflow.capture import capture_with
from attnflow.hooks import before, given_tensor, with_given_tensor
from attnflow.joint import is_encoder_decoder
from attnflow.pictures import PictureBackend, image_info, takes_pictures
from PIL import Image

import attnflow
from attnflow import attnlrp, edges
from attnflow.text import Encoded, head_of

TERMS = 1e-4  # of the largest number
GRADIENT = 1e-4
IDS = [7, 11, 5, 23, 42, 8, 17, 31]
SOURCE = 5  # of an encoder-decoder


@dataclass
class Outcome:
    how: str  # found, refused
    terms: float = 0.0
    gradient: float = 0.0
    reason: str = ""


class Plain:
    """A tokenizer for ids alone."""

    is_fast = False
    mask_token_id = 42
    all_special_ids: tuple[int, ...] = ()

    def convert_ids_to_tokens(self, token: int) -> str:
        return str(token)

    def convert_tokens_to_string(self, pieces: list[str]) -> str:
        return " ".join(pieces)


def with_head(family: Family) -> Any:
    """The family's model as a language model, or else as a classifier."""
    base = family.build()
    if not base.config.is_encoder_decoder and family.model or family.model.endswith("EncoderModel"):
        return base  # a part of one that has a head
    auto = transformers.models.auto.modeling_auto
    for table in (
        "SEQ_TO_SEQ_CAUSAL_LM",
        "CAUSAL_LM",
        "MASKED_LM",
        "SEQUENCE_CLASSIFICATION",
        "QUESTION_ANSWERING",
        "IMAGE_CLASSIFICATION",
    ):
        names = getattr(auto, f"MODEL_FOR_{table}_MAPPING_NAMES").get(base.config.model_type)
        if names is None:
            continue
        kind = getattr(transformers, names if isinstance(names, str) else names[0])
        torch.manual_seed(0)
        model = kind(base.config).eval()
        for parameter in model.parameters():
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=0.3)
        return model
    return base


class Processor:
    def to_json_string(self) -> str:
        return "{}"


def input_of(model: Any) -> Any:
    """Token ids, or pixels."""
    if not takes_pictures(model):
        return IDS
    image = image_info(model)
    return np.random.default_rng(1).normal(size=(image.channels, image.height, image.width)).astype(np.float32)


def backend_of(model: Any, mixing: str, facts: dict[str, Any]) -> Backend:
    if takes_pictures(model):
        return PictureBackend(model, Processor(), Image.new("RGB", (16, 16)), {"mixing": mixing}, facts)
    cuts = [IDS[:SOURCE], IDS[SOURCE:]] if is_encoder_decoder(model) else [IDS]
    parts = [Encoded(ids, [str(token) for token in ids], [False] * len(ids)) for ids in cuts]
    return Backend(model, Plain(), parts, {"mixing": mixing}, facts)


def whole_gradient(model: Any, backend: Backend, target: Any, by_rules: bool) -> Any:
    """The gradient at the first layer's input (of an encoder-decoder: at both), by one graph."""
    if is_encoder_decoder(model):
        made: Any = backend._pass_over([Asked(IDS, [0] * len(IDS))], by_rules)
        firsts = [made._watch.runs[0].layer, made._runs[0].parts.layer]
    else:
        firsts = [backend._known_layers()[0][0]]
    leaves: dict[int, Any] = {}

    def cut(module: Any, arguments: Any, options: Any) -> Any:
        if id(module) in leaves:  # a layer that runs several times
            return None
        leaves[id(module)] = given_tensor(module, arguments, options).detach().requires_grad_(True)
        return with_given_tensor(module, arguments, options, leaves[id(module)])

    with ExitStack() as stack:
        captured = stack.enter_context(capture_with(model, lambda *_: None, see=lambda *_: None))
        stack.enter_context(attnlrp.rules(model, by_rules))
        for first in firsts:
            stack.callback(before(first, cut))
        stack.enter_context(captured.seeing())
        output = model(**backend._inputs(input_of(model), [0] * len(IDS)))
        gradients = torch.autograd.grad(backend._score(output, target, by_rules), list(leaves.values()))
    return np.concatenate([gradient[0].numpy() for gradient in gradients])


def outcome_of(family: Family) -> Outcome:
    """Raises anything but attnflow's refusals."""
    model = with_head(family)
    try:
        return outcome_with(family, model, {})
    except OtherFacts as found:
        return outcome_with(family, model, found.facts)


def outcome_with(family: Family, model: Any, facts: dict[str, Any]) -> Outcome:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            head = head_of(model)
            if head in (None, "embedding"):
                return Outcome("refused", reason=f"no head: {type(model).__name__}")
            backend = backend_of(model, "relevance", facts)
            target: Any = (
                "logit",
                1,
                [],
                None if head in ("classification", "answer") else 4 if head == "masked" else len(IDS) - 1,
                [],
            )
            terms = terms_error(model, facts)
            worst = 0.0
            for by_rules in (True, False):
                _, _, found = backend.input_gradient(input_of(model), [0] * len(IDS), target, by_rules, None)
                expected = whole_gradient(model, backend, target, by_rules)
                worst = max(worst, float(np.abs(found - expected).max() / np.abs(expected).max()))
        except attnflow.Error as error:
            return Outcome("refused", reason=str(error))
    if not (terms < TERMS and worst < GRADIENT):
        raise AssertionError(f"{family.name}: terms differ by {terms}, gradients by {worst}")
    return Outcome("found", terms, worst)


class _Terms:
    """A sink that keeps how far each layer's terms are from their sum."""

    wants_terms = True

    def __init__(self) -> None:
        self.bias: Any = None  # of the layer that comes next
        self.errors: list[float] = []

    def terms(self, made: Any) -> None:
        self.errors.append(made.completeness_error(self.bias))


def terms_error(model: Any, facts: dict[str, Any]) -> float:
    sink = _Terms()
    terms = edges.Run.terms

    def seen(run: Any) -> Any:
        made, sink.bias = terms(run)
        return made, sink.bias

    with mock.patch.object(edges.Run, "terms", seen):
        backend = backend_of(model, "alti", facts)
        backend.run(input_of(model), [0] * len(IDS), sink, [])
    assert len(sink.errors) == backend.info.layers
    return max(sink.errors)


def table(outcomes: dict[str, Outcome]) -> str:
    """The table of docs/python.md."""
    lines = ["| relevance and contributions | families |", "| --- | --- |"]
    for how, words in (("found", "yes"), ("refused", "no, refused")):
        names = sorted(name for name, outcome in outcomes.items() if outcome.how == how)
        lines.append(f"| {words}: {len(names)} | {', '.join(names)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    asked = sys.argv[1:]
    made = {one.label or one.name: outcome_of(one) for one in FAMILIES if not asked or (one.label or one.name) in asked}
    for name, outcome in made.items():
        if asked or outcome.how != "found":
            print(name, outcome, file=sys.stderr)
    print(table(made), end="")
