"""A loaded Transformers model as a backend of the library, like those that run a model's files.

The library asks (python/binding/text_model.h): for predictions, for the attention of each layer or the parts of its
contributions while the model runs, and for gradients of one score. It alone decides what is asked, and makes the report
of it. The answers come from hooks and from the exchanged attention function (attnflow.capture).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from inspect import signature
from typing import Any

from attnflow import _core
from attnflow.anatomy import FoundOnce, layers_found
from attnflow.capture import capture_with, has_sinks, shape_alone, stack_layers, text_config
from attnflow.edges import Run, Watch, require_norms
from attnflow.errors import Error, unsupported
from attnflow.joint import declared_layers, is_encoder_decoder, joint_of, whole_number
from attnflow.joint_pass import JointPass, decoder_parts
from attnflow.joint_terms import joint_layers, run_with_terms
from attnflow.layers import LayerParts
from attnflow.model_inputs import inputs_of_ids, model_name, positions, row_of
from attnflow.one_pass import OnePass, same_inputs
from attnflow.padding import of_text, padded, padding_of
from attnflow.text import (
    CLASSES,
    Encoded,
    bytes_of,
    encode,
    head_of,
    label_of,
    numbers,
    readable,
    spelled,
    word_to_ids,
)
from attnflow.walk import modules, parameters

# Kind, label, others, position, direction.
Target = tuple[str, int, list[int], int | None, list[float]]

# Limits for one batch: tokens, numbers in its logits, and numbers in the attention or the inputs of all layers.
_TOKENS = 4096
_LOGITS = 2**26
_KEPT = 2**26


_reads_first: FoundOnce[bool] = FoundOnce()


@dataclass
class Info:
    """What the library knows of a model (attnflow/model/model.h, ModelInfo)."""

    name: str
    architecture: str
    layers: int
    heads: int
    hidden: int
    vocabulary: int
    max_tokens: int
    causal: bool
    norms_after: bool
    head: str
    labels: list[str]
    pooling: str  # of an embedding: mean, cls, or one that is not known
    classifies_first_token: bool
    multi_label: bool
    padding: int | None
    parameters: int
    image: Any  # of a vision model (attnflow.pictures)
    # An encoder-decoder's layers in the encoder and in the decoder, and the tokens that a generated target begins with.
    joint: tuple[int, int, list[int]] | None


def layer_count(model: Any) -> int:
    """The number of layers of its graph: of an encoder-decoder, two for each of the decoder's."""
    if is_encoder_decoder(model):
        encoder, decoder = declared_layers(model)
        return (encoder or 0) + 2 * (decoder or 0)
    return stack_layers(model) or 1


class OtherFacts(Exception):
    """The model's attention is not what its configuration says; the facts are those to go on with."""

    def __init__(self, **facts: Any) -> None:
        super().__init__(facts)
        self.facts = facts


def begun_again(model: Any, asked: dict[str, Any], explain: Callable[[dict[str, Any]], Any]) -> Any:
    """explain(facts), begun again where the model is not what its configuration says."""
    facts: dict[str, Any] = {}
    while True:
        try:
            return explain(facts)
        except OtherFacts as found:
            if all(facts.get(name, value) == value for name, value in found.facts.items()):
                facts = facts | found.facts
            elif facts.get("causal") and found.facts.get("causal") is False:  # a higher layer looks ahead
                facts = facts | found.facts
            else:
                raise unsupported(
                    f"expected layers of one kind of attention in {type(model).__name__}, found several: {found.facts}"
                ) from None
        except (Error, RuntimeError) as error:
            if first := facts.get("attention"):
                raise first from None
            names_target = any(asked.get(name) not in (None, "auto") for name in ("target", "against"))
            if asked.get("mixing") not in (None, "auto") or names_target or not _is_impossible(error):
                raise
            # It was not requested, and the layers have no gradients after all, or there is no room for them.
            facts = facts | {"attention": error}


def _is_impossible(error: Exception) -> bool:
    """Whether the model cannot do what was asked of it, here: not an error of its own."""
    if isinstance(error, Error):
        return error.kind == "unsupported_model"
    return type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)


@dataclass(frozen=True)
class OwnHead:
    """A classifier of the caller's own over a model's output: a function that gives logits [text, class]."""

    logits: Callable[[Any], Any]
    labels: tuple[str, ...] = ()


@dataclass
class Asked:
    """What is asked of the model for one text, perhaps one of several in a pass."""

    ids: Any
    types: Sequence[int]
    sink: Any = None
    positions: Sequence[int] = ()
    target: Target | None = None
    failed: Exception | None = None
    is_one: bool = True  # not one of several, which go on if this one fails

    def give(self, hand_over: Callable[..., None], *what: Any) -> None:
        """Hands something over, unless that failed before."""
        if self.failed is not None:
            return
        try:
            hand_over(*what)
        except Exception as error:
            if self.is_one:
                raise
            self.failed = error


def _tokens(part: Encoded) -> list[tuple[int, str, bool, int]]:
    rows = zip(part.ids, part.tokens, part.special, part.types or [0] * len(part.ids), strict=True)
    return [(int(token), piece, bool(special), int(kind)) for token, piece, special, kind in rows]


class Backend:
    """A model with one text that its tokenizer has read; of an encoder-decoder `parts` are source and target.

    asked: the options of the explanation. facts: what an earlier run found other than the configuration says it.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        parts: Sequence[Encoded],
        asked: dict[str, Any],
        facts: dict[str, Any],
        own: OwnHead | None = None,
        pooling: str = "mean",
    ) -> None:
        self.model, self.tokenizer, self.parts, self.asked, self.facts, self.own, self.pooling = (
            model,
            tokenizer,
            parts,
            asked,
            facts,
            own,
            pooling,
        )
        self.is_joint = is_encoder_decoder(model)
        self.head = head_of(model) if own is None else "classification"
        self.source = len(parts[0].ids) if self.is_joint else 0  # tokens of the encoder
        self.begin: list[int] = []  # the tokens that a generated target begins with
        self.image: Any = None
        self._watches = _core.mixing_info(asked.get("mixing") or "auto").needs in ("gradients", "relevance")
        self._pass: OnePass | JointPass | None = None
        self._found_causal: bool | None = None

    def given(self, facts: dict[str, Any]) -> Backend:
        """The same with other facts."""
        if facts == self.facts:
            return self
        return Backend(self.model, self.tokenizer, self.parts, self.asked, facts, self.own, self.pooling)

    # The library reads these once.

    @cached_property
    def info(self) -> Info:
        model = self.model
        config = model.config
        inner = text_config(model)
        return Info(
            name=model_name(model),
            architecture=str(config.model_type),
            layers=layer_count(model),
            heads=self.facts.get("heads") or self._heads(),
            hidden=whole_number([inner], "hidden_size", "d_model", "n_embd", "dim") or 0,
            vocabulary=self.vocabulary,
            max_tokens=positions(model) or 2**31,
            causal=self._is_causal(),
            norms_after=self._asks_for_logits and self._has_norms_after(),
            head="none" if self.head is None or (self.head == "embedding" and self._is_causal()) else self.head,
            labels=self._labels() if self._has_classes else [],
            pooling=self.pooling,
            classifies_first_token=self._reads_first_token(),
            multi_label=self.own is None and self._has_classes and config.problem_type == "multi_label_classification",
            padding=getattr(config, "pad_token_id", None) if self.head == "classification" else None,
            parameters=sum(parameter.numel() for parameter in parameters(modules(model))),
            image=self.image,
            joint=self._joint() if self.is_joint else None,
        )

    def _labels(self) -> list[str]:
        import torch

        if self.own is None:
            return [label_of(self.model)(label) for label in range(int(self.model.config.num_labels))]
        with torch.no_grad():
            count = self._class_logits(self.model(**self._own_inputs())).shape[1]
        if self.own.labels and len(self.own.labels) != count:
            raise Error(f"labels: expected a label for each of {count} classes, found {len(self.own.labels)}")
        return list(self.own.labels) or [f"LABEL_{label}" for label in range(count)]

    def _class_logits(self, output: Any) -> Any:
        """[text, class]"""
        import torch

        found = output.logits if self.own is None else self.own.logits(output)
        if self.own is not None and not (
            isinstance(found, torch.Tensor) and found.dim() == 2 and found.is_floating_point()
        ):
            what = list(found.shape) if isinstance(found, torch.Tensor) else type(found).__name__
            raise Error(f"head: expected a function that gives logits [text, class], found {what}")
        return found

    def _embedding(self, output: Any) -> Any:
        """[text, hidden]: the mean of each text's states, or the first. Texts have no padding here."""
        states = output[0] if isinstance(output, tuple) else output.last_hidden_state
        return states[:, 0] if self.pooling == "cls" else states.mean(1)

    def _joint(self) -> tuple[int, int, list[int]]:
        encoder, decoder = declared_layers(self.model)
        return encoder or 0, decoder or 0, self.begin

    @property
    def _has_classes(self) -> bool:
        return self.head in CLASSES

    _leading = 1  # tokens before those of the input

    def _reads_first_token(self) -> bool:
        """Whether an encoder's class is read from its first token alone, not from a mean: found by a gradient."""
        if self.head != "classification" or self.asked.get("mixing") not in (None, "auto") or self._is_causal():
            return True
        if self.image is None and len(self.tokens) < 2:
            return True  # for one token it is the same
        own = None if self.own is None else self.own.logits
        pooling = getattr(self.model.config, "classifier_pooling", None)
        try:
            return _reads_first.of(self.model, self._find_first_token, pooling, own)
        except Error as error:
            if error.kind != "unsupported_model":
                raise
            return True

    def _find_first_token(self) -> bool:
        made = OnePass(self.model, self._known_layers(), self._own_inputs(), [], False)
        _, gradient = made.backward(lambda output: self._class_logits(output)[0].square().sum())
        return not bool(gradient[0, self._leading :].abs().max() > 0)

    def _heads(self) -> int:
        config = self.model.config
        configs = [getattr(config, part, None) for part in ("encoder", "decoder")] if self.is_joint else []
        names = ("num_attention_heads", "encoder_attention_heads", "decoder_attention_heads", "n_head", "n_heads")
        found = [whole_number([one], name) for one in (text_config(self.model), config, *configs) for name in names]
        return max((heads for heads in found if heads is not None), default=1)

    def _is_causal(self) -> bool:
        """A guess, which the first layer confirms or corrects."""
        if self.is_joint:
            return False
        if "causal" in self.facts:
            return bool(self.facts["causal"])
        said = [
            module.is_causal for module in modules(self.model) if isinstance(getattr(module, "is_causal", None), bool)
        ]
        return all(said) if said else self.head == "next" or bool(getattr(self.model.config, "is_decoder", False))

    @property
    def tokens(self) -> list[tuple[int, str, bool, int]]:
        return [token for part in self.parts for token in _tokens(part)]

    @property
    def texts(self) -> list[Any]:
        texts = [text for part in self.parts for text in part.texts]
        return texts if all(part.texts for part in self.parts) and len(texts) <= 2 else []

    @cached_property
    def vocabulary(self) -> int:
        return int(self.model.get_input_embeddings().weight.shape[0])

    def _own_id(self, name: str) -> int | None:
        token = getattr(self.tokenizer, f"{name}_token_id", None)
        # A decoder that classifies does so at the last token that is not padding: padding would move that.
        if token is None or (
            self.head == "classification" and token == getattr(self.model.config, "pad_token_id", None)
        ):
            return None
        return int(token)

    @property
    def mask_id(self) -> int | None:
        mask = getattr(self.tokenizer, "mask_token_id", None)
        return None if mask is None else int(mask)

    @property
    def unknown_id(self) -> int | None:
        return self._own_id("unk")

    @property
    def padding_id(self) -> int | None:
        return self._own_id("pad")

    @property
    def ids(self) -> list[int]:
        return [token for part in self.parts for token in part.ids]

    @cached_property
    def special_ids(self) -> list[int]:
        known = getattr(self.tokenizer, "added_tokens_decoder", {})
        special = [int(token) for token, added in known.items() if added.special]
        return [*special, *getattr(self.tokenizer, "all_special_ids", [])]

    @property
    def end_ids(self) -> list[int]:
        end = self._own_id("eos")
        return [] if end is None else [end]

    @property
    def tokenizer_name(self) -> str:
        return type(self.tokenizer).__name__

    def read(self, text: str | tuple[str, str]) -> Backend:
        """The model with another text."""
        first, pair = (text, None) if isinstance(text, str) else text
        parts = [encode(self.tokenizer, first, pair=pair)]
        return Backend(self.model, self.tokenizer, parts, self.asked, self.facts, self.own, self.pooling)

    def word_to_ids(self, word: str) -> list[int]:
        return word_to_ids(self.tokenizer, word)

    def spelled(self, token: int) -> str:
        piece = self.tokenizer.convert_ids_to_tokens(int(token))
        return spelled(self.tokenizer, token) if piece is None else str(piece)

    def readable(self, token: int) -> str:
        return readable(self.tokenizer, token)

    def bytes_of(self, token: int) -> bytes:
        """What the token adds to the text."""
        return bytes_of(self.tokenizer, token)

    # The library calls these while it explains.

    def _inputs(self, ids: Sequence[int], types: Sequence[int]) -> dict[str, Any]:
        if not self.is_joint:
            inputs = inputs_of_ids(self.model, ids)
            if any(types) and "token_type_ids" in signature(self.model.forward).parameters:
                inputs["token_type_ids"] = row_of(self.model, types)
            return inputs
        inputs = inputs_of_ids(self.model, ids[: self.source])
        inputs["decoder_input_ids"] = row_of(self.model, ids[self.source :])
        return inputs

    def run(self, ids: list[int], types: list[int], sink: Any, positions: list[int]) -> Any:
        """The logits, as of attnflow/model/model.h, ModelOutput. Layers go to the sink, if there is one."""
        return self.run_each([Asked(ids, types, sink, positions=positions)])[0]

    def run_each(self, texts: Sequence[Asked]) -> list[Any]:
        """The same for several texts in one pass, for backends with the same facts and sinks of one kind."""
        import torch

        first = texts[0]
        inputs = self._inputs_of(texts)
        if first.sink is None and self._watches:
            self._pass = self._pass_over(texts, self._by_rules)
            output = self._pass.output
        elif first.sink is None:
            with torch.no_grad():
                output = self.model(**inputs)
        elif first.sink.wants_terms:
            output = self._contributions(inputs, texts)
        else:
            output = self._attention(inputs, texts)
        outputs = self._outputs(output, texts)
        return [self._logits(own, text.positions) for own, text in zip(outputs, texts, strict=True)]

    def _inputs_of(self, texts: Sequence[Asked]) -> dict[str, Any]:
        """Texts as one batch: padded behind, so that positions are those of each text alone."""
        inputs = [self._inputs(text.ids, text.types) for text in texts]
        return inputs[0] if len(inputs) == 1 else padded(inputs, padding_of(self.model))

    def _outputs(self, output: Any, texts: Sequence[Asked]) -> list[Any]:
        """The output of each text, without its padding."""
        if len(texts) == 1:
            return [output]
        counts = [self._count(text.ids) for text in texts]
        return [of_text(output, text, count, max(counts)) for text, count in enumerate(counts)]

    def _count(self, ids: Any) -> int:
        """The number of tokens."""
        return len(ids)

    def _logits(self, output: Any, positions: Sequence[int]) -> Any:
        import torch

        if self.head is None:
            return None
        if self.head == "answer":
            return numbers(torch.stack([output.start_logits[0], output.end_logits[0]]))
        if self.own is not None:
            return numbers(self._class_logits(output)[0])
        if self.head == "embedding":
            return numbers(self._embedding(output)[0])
        logits = getattr(output, "logits", None)
        dimensions = 2 if self.head == "classification" else 3
        if logits is None or logits.dim() != dimensions:
            found = "none" if logits is None else f"shape {list(logits.shape)}"
            raise unsupported(f"expected logits of {dimensions} dimensions, found {found}")
        if self.head == "classification":
            return numbers(logits[0])
        return numbers(logits[0][[position - self.source for position in positions]]) if positions else None

    def _attention(self, inputs: dict[str, Any], texts: Sequence[Asked]) -> Any:
        import torch

        layers = self.info.layers
        heads = self.asked.get("heads")
        means = heads in (None, "mean") and not self.asked.get("renormalize") and not self.asked.get("keep_attention")
        divides = self.asked.get("renormalize") is None and not self.asked.get("any_weights")

        # Rows with a learned sink miss 1; other mixings only count what they show.
        checks = self.asked.get("mixing") == "attention" or not has_sinks(modules(self.model))
        counts = [self._count(text.ids) for text in texts]
        tokens = max(counts)

        def hand_over(text: Asked, weights: Any, number: int) -> None:
            text.sink.layer(number, numbers(weights), divides and captured.rounded, checks)

        def keep(weights: Any, number: int, _: int = 0) -> Any:
            kept = weights.detach()
            if self.is_joint:
                return kept.cpu()
            if kept.dim() == 4 and len(kept) == len(texts) and kept.shape[2] == kept.shape[3] and number <= layers:
                if kept.shape[2] != tokens:
                    raise unsupported(
                        f"expected attention between {tokens} tokens, found {kept.shape[2]} in {type(self.model).__name__}"
                    )
                for place, (text, count) in enumerate(zip(texts, counts, strict=True)):
                    own = kept[place : place + 1, :, :count, :count]
                    text.give(self._confirm, own, number)
                    text.give(hand_over, text, own[0], number)
            return shape_alone(kept)  # for what is checked below

        fuse = "mean" if means and not self.is_joint else None
        with capture_with(self.model, keep, fuse) as captured, torch.no_grad():
            output = self.model(**inputs)
        if not self.is_joint:
            captured.attentions  # noqa: B018, which compares the calls with the model's layers
            return output
        joint = joint_of(self.model, captured.calls)
        if self.asked.get("keep_attention"):
            joint.layers()  # layers of one number of heads
        for index in range(len(joint.steps)):
            hand_over(texts[0], joint.layer(index)[0], index + 1)
        return output

    def _confirm(self, weights: Any, number: int) -> None:
        """Compares the guesses with a layer."""
        import torch

        if weights.shape[-1] > 1:
            causal = not bool(torch.triu(weights, 1).any())
            if (number == 1 and "causal" not in self.facts and causal != self.info.causal) or (
                self.info.causal and not causal
            ):
                raise OtherFacts(causal=causal)
        heads = int(weights.shape[1])
        if number == 1 and heads not in (1, self.info.heads):
            raise OtherFacts(heads=heads)

    def _contributions(self, inputs: dict[str, Any], texts: Sequence[Asked]) -> Any:
        import torch

        if self.is_joint:
            give = partial(texts[0].give, texts[0].sink.terms)
            return run_with_terms(self.model, inputs, self._mixing, self.source, give)
        counts = [self._count(text.ids) for text in texts]

        def finished(run: Run) -> None:
            terms, bias = run.terms()
            for place, (text, count) in enumerate(zip(texts, counts, strict=True)):
                text.give(self._confirm, run.by_head[place : place + 1, :, :count, :count], run.number)
                made = terms(place, count).made()
                # Checks the first layer for all: this costs as much as the contributions themselves.
                if run.number == 1:
                    text.give(lambda made=made: run.check_completeness(made.completeness_error(bias)))
                text.give(text.sink.terms, made)
            run.forget()

        watch = Watch(self._known_layers(), finished)
        with (
            capture_with(self.model, shape_alone, see=watch.see) as captured,
            watch.hooks(),
            captured.seeing(),
            torch.no_grad(),
        ):
            output = self.model(**inputs)
        watch.check_calls(captured)
        return output

    def logits_of_each(self, ids: list[list[int]], types: list[list[int]], position: int | None) -> list[Any]:
        """The logits of the first of several inputs, as many as run at once."""
        import torch

        tokens = len(ids[0])
        alike = next((k for k, row in enumerate(ids) if len(row) != tokens), len(ids))
        count = min(alike, self._at_once(tokens))
        inputs = self._inputs(ids[0], types[0])
        name = "decoder_input_ids" if self.is_joint else "input_ids"
        if self.is_joint:
            inputs["input_ids"] = torch.cat([row_of(self.model, row[: self.source]) for row in ids[:count]])
        inputs[name] = torch.cat([row_of(self.model, row[self.source :]) for row in ids[:count]])
        rest = {key: one.repeat(count, 1) for key, one in inputs.items() if not key.endswith("input_ids")}
        with torch.no_grad():
            output = self.model(**({key: one for key, one in inputs.items() if key not in rest} | rest))
        if self.head == "answer":
            logits = output.start_logits
        elif self.head == "classification":
            logits = self._class_logits(output)
        elif self.head == "embedding":
            logits = self._embedding(output)
        else:
            logits = output.logits[:, -1 if position is None else position - self.source]
        return [numbers(row) for row in logits]

    def _at_once(self, tokens: int) -> int:
        if (
            getattr(self.model.config, "pad_token_id", None) is None
            and self.head == "classification"
            and self.own is None
        ):
            return 1  # transformers refuses more of decoders
        return int(max(1, min(_TOKENS // tokens, _LOGITS // (tokens * self.vocabulary))))

    def at_once(self, tokens: int, most: int) -> int:
        """How many texts of so many tokens are explained at once, at most."""
        info = self.info
        numbers_each = info.layers * tokens * max(tokens * info.heads, info.hidden)
        return max(1, min(most, self._at_once(tokens), _KEPT // numbers_each))

    # Gradients.

    def has_terms(self) -> bool:
        if "attention" in self.facts:
            return False
        try:
            self.require_layers()
        except Error as error:
            if error.kind != "unsupported_model":
                raise
            return False
        return True

    def require_layers(self) -> None:
        """Refuses a model whose layers are not known, or are those that a mixing is not defined for."""
        if self.is_joint:
            joint_layers(self.model, self._own_inputs(), self._mixing)
        else:
            self._known_layers()

    @property
    def _by_rules(self) -> bool:
        return bool(_core.mixing_info(self.asked.get("mixing") or "auto").needs != "gradients")

    def prepare_gradients(self) -> None:
        """Refuses models without gradients; from now on passes are kept for them."""
        if not self.is_joint:
            self._known_layers()
        elif error := self.facts.get("attention"):
            raise error
        else:
            decoder_parts(self.model, self._own_inputs())
        self._watches = True

    def _has_norms_after(self) -> bool:
        """Whether norms come after the blocks whose sum the head reads: an encoder-decoder's are the decoder's."""
        if self.is_joint:
            return any(parts.last_norm for parts in decoder_parts(self.model, self._own_inputs()))
        return any(parts.last_norm for _, parts in self._known_layers())

    def _known_layers(self) -> list[tuple[Any, LayerParts]]:
        if error := self.facts.get("attention"):
            raise error
        if self.is_joint:
            raise unsupported("expected a model of one stack of layers, found an encoder-decoder")
        found = layers_found(self.model, self._own_inputs())
        require_norms(self._mixing, [(number, parts) for number, (_, parts) in enumerate(found, start=1)])
        return found

    @property
    def _mixing(self) -> str:
        return str(self.asked.get("mixing") or "auto")

    def _own_inputs(self) -> dict[str, Any]:
        return self._inputs([*self.ids, *self.begin], [kind for *_, kind in self.tokens])

    @property
    def _asks_for_logits(self) -> bool:
        methods = self.asked.get("method") or ()
        return any(
            one.strip() in ("logit", "alti-logit")
            for one in (methods.split(",") if isinstance(methods, str) else methods)
        )

    def _pass_over(self, texts: Sequence[Asked], by_rules: bool, embedding: Any = None) -> OnePass | JointPass:
        inputs, ids = self._inputs_of(texts), [text.ids for text in texts]
        if self.is_joint:
            return JointPass(self.model, inputs, ids, by_rules, embedding)
        return OnePass(self.model, self._known_layers(), inputs, ids, by_rules, embedding)

    def attention_gradients(self, ids: list[int], types: list[int], target: Target, sink: Any, by_rules: bool) -> None:
        self.attention_gradients_of_each([Asked(ids, types, sink, target=target)], by_rules)

    def attention_gradients_of_each(self, texts: Sequence[Asked], by_rules: bool) -> None:
        made, self._pass = self._pass, None
        if made is None or not same_inputs(made.ids, [text.ids for text in texts]) or made.by_rules != by_rules:
            made = self._pass_over(texts, by_rules)
        self._watches = False  # what follows runs other inputs, or none
        _, row = made.backward(partial(self._score_of_each, texts=texts, by_rules=by_rules))
        wide = []
        for place, text in enumerate(texts):
            count = self._count(text.ids)
            text.give(text.sink.top, *(numbers(made.all_tokens(one, place, count)) for one in (made.top, row)))
            if text.sink.wants_layers:
                wide.append((place, text, count))
        if not wide:
            return
        with closing(made.layers(row)) as layers:
            for layer in layers:
                for place, text, count in wide:
                    weights, *others = layer.of_sink(place, count)
                    if not self.is_joint:
                        text.give(self._confirm, weights[None], layer.number)
                    text.give(text.sink.layer, layer.number, *map(numbers, (weights, *others)))

    def _score_of_each(self, output: Any, texts: Sequence[Asked], by_rules: bool) -> Any:
        """The sum of the texts' scores, none of which depends on another text."""
        outputs = self._outputs(output, texts)
        return sum(
            self._score(own, text.target, by_rules) for own, text in zip(outputs, texts, strict=True) if text.target
        )

    def input_gradient(
        self, ids: list[int], types: list[int], target: Target, by_rules: bool, embedding: Any
    ) -> tuple[float, Any, Any]:
        """The target's value, the input of the first layer, and the gradient there."""
        made = self._pass_over([Asked(ids, types)], by_rules, embedding)
        value, row = made.backward(partial(self._score, target=target, by_rules=by_rules))
        with closing(made.layers(row)) as layers:
            for _ in layers:
                pass
        return value, *map(numbers, made.lowest)

    def _score(self, output: Any, target: Target, by_rules: bool) -> Any:
        kind, label, others, position, direction = target
        if kind == "cosine":
            vector = self._embedding(output)[0].float()
            length = vector.norm()
            return (vector * vector.new_tensor(direction)).sum() / (length.detach() if by_rules else length)
        if self.head == "answer":
            logits = output.start_logits[0]
        elif self.head == "classification":
            logits = self._class_logits(output)[0]
        else:
            last = output.logits.shape[1] - 1
            logits = output.logits[0, last if position is None else position - self.source]
        if kind.startswith("probability"):
            logits = logits.float().softmax(dim=-1)
        value = logits[label]
        if kind == "rest":
            return value - (logits.sum() - value) / (len(logits) - 1)
        if others:
            return value - sum(logits[other] for other in others) / len(others)
        return value
