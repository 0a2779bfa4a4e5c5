"""A decoder's continuation, and what each of its tokens depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from attnflow import _core
from attnflow.backend import Backend, begun_again, layer_count, require_layers
from attnflow.capture import explained
from attnflow.errors import Error, unsupported
from attnflow.hints import GenerationOptions, counted, describes_options
from attnflow.inputs import Given, given_once
from attnflow.joint import is_encoder_decoder
from attnflow.model_inputs import check_ids, encoded, inputs_of_ids, positions
from attnflow.progress import progress_bar
from attnflow.report import Report
from attnflow.text import Encoded, encode, require_words


class GeneratedBackend(Backend):
    """A model with its prompt, and the text that it has generated."""

    made: list[int]
    stopped: str

    def chat(self, messages: list[dict[str, str]]) -> str:
        found: str = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return found


@describes_options("generate")
def generate(
    model: Any,
    tokenizer: Any,
    prompt: Any = None,
    *,
    inputs: Any = None,
    prompt_tokens: Sequence[str] | None = None,
    tokens: int = 64,
    temperature: float = 0.0,
    top_p: float = 1.0,
    seed: int = 1,
    chat: bool = False,
    system: str | None = None,
    ignore_end: bool = False,
    generation: Mapping[str, Any] | None = None,
    **options: Unpack[GenerationOptions],
) -> Report:
    """Continues a prompt with a loaded decoder of Transformers, and says what each generated token depends on.

    The model's own generate() makes the text, with its kernels and its cache; passes over prompt and text then give the
    values. Row t of the report's arrays is of the position that chose generated token t.

    prompt: a text, or its token ids as the tokenizer returns them.
    inputs, prompt_tokens: instead of prompt, what a tokenizer or processor returned, and names for its tokens.
    tokens: how many, at most. temperature, top_p, seed: 0 takes the most probable token.
    chat, system: whether the prompt is the user's turn in the tokenizer's chat template, and the system turn before it.
    ignore_end: continues past a token that ends the text.
    generation: further arguments of model.generate(), such as {"num_beams": 4} or {"repetition_penalty": 1.2}.
    """
    model = explained(model)
    if is_encoder_decoder(model) or not hasattr(model, "generate"):
        raise unsupported(
            f"expected a decoder that generates text, found {type(model).__name__}; for an encoder-decoder, pass "
            "a target text to explain() as target_text"
        )
    found, is_one = given_once(prompt, inputs, prompt_tokens, tokenizer, model, "prompt", "prompt_tokens")
    given = _one_prompt(found, is_one, chat)
    _require_free(generation or {})
    asked: dict[str, Any] = counted(dict(options), layer_count(model))
    asked |= {
        "tokens": tokens,
        "temperature": temperature,
        "top_p": top_p,
        "seed": seed,
        "chat": chat,
        "system": system,
    }
    _core.check_generation_options(asked)
    if asked.get("words"):
        require_words(tokenizer)
    prompted = _encode_prompt(model, tokenizer, given, chat, system)
    mixing = asked.get("mixing") or "auto"
    if _core.mixing_info(mixing).needs != "attention":
        require_layers(model, inputs_of_ids(model, prompted.ids), mixing)
    room = positions(model)
    most = tokens if room is None else min(tokens, room - len(prompted.ids) + 1)
    sampling = {"temperature": temperature, "top_p": top_p, "top_k": 0} if temperature > 0 else {}
    made = _continue(model, tokenizer, prompted.ids, most, ignore_end, seed, sampling, generation or {})
    ended = len(made) < most or (made[-1] in _ends(model) and not ignore_end)
    stopped = "end" if ended else "length" if len(made) >= tokens else "context"
    if chat:
        asked["user"] = given.text
    backend = partial(GeneratedBackend, model, tokenizer, [prompted], asked)
    return Report(begun_again(model, asked, lambda facts: _explained(backend(facts), made, stopped)))


def _explained(backend: GeneratedBackend, made: list[int], stopped: str) -> _core.Report:
    if backend.facts.get("causal") is False:
        raise unsupported(
            f"{type(backend.model).__name__}: expected a decoder, whose tokens see no later tokens, found a model whose "
            "tokens do"
        )
    backend.made, backend.stopped = made, stopped
    with progress_bar() as progress:
        return _core.explain_generated(backend, backend.asked, progress)


_PARAMETERS = {
    "max_new_tokens": "tokens",
    "max_length": "tokens",
    "temperature": "temperature",
    "do_sample": "temperature",
    "top_p": "top_p",
    "eos_token_id": "ignore_end",
}


def _require_free(further: Mapping[str, Any]) -> None:
    """Refuses arguments of generate() that have a separate parameter."""
    for name, parameter in _PARAMETERS.items():
        if name in further:
            raise Error(f"generation: expected no {name!r}, found one; use the parameter {parameter}")


def _one_prompt(found: Sequence[Given], is_one: bool, chat: bool) -> Given:
    if not is_one:
        raise Error(f"prompt: expected one prompt, found a list of {len(found)}; call generate() for each")
    if found[0].pair is not None:
        raise Error("prompt: expected one text, found a pair; join its texts")
    if chat and found[0].ids is not None:
        raise Error(
            "prompt: expected a text with chat=True, found token ids; ids that a chat template made go without chat"
        )
    return found[0]


def _encode_prompt(model: Any, tokenizer: Any, prompt: Given, chat: bool, system: str | None) -> Encoded:
    if not chat:
        return encoded(model, tokenizer, prompt)
    if not getattr(tokenizer, "chat_template", None):
        raise Error(
            f"chat: expected a tokenizer with a chat template, found none in {type(tokenizer).__name__}; omit chat, or "
            "load the instruction-tuned version of the model"
        )
    messages = [] if system is None else [{"role": "system", "content": system}]
    messages.append({"role": "user", "content": prompt.text})
    whole = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    # The template writes the tokens that the tokenizer would add.
    found = encode(tokenizer, whole, add_special_tokens=False)
    check_ids(model, found.ids)
    return found


# An end token for texts without one. None would mean the model's own.
_NO_TOKEN = 2**31 - 1


def _continue(
    model: Any,
    tokenizer: Any,
    ids: Sequence[int],
    most: int,
    ignore_end: bool,
    seed: int,
    sampling: Mapping[str, Any],
    further: Mapping[str, Any],
) -> list[int]:
    import torch

    given: dict[str, Any] = {"max_new_tokens": most, "do_sample": bool(sampling), **sampling}
    if not sampling:  # what the model's own configuration may say of sampling does not apply
        given |= {"temperature": None, "top_p": None, "top_k": None}
    if ignore_end:  # a token that ends the text may be chosen, and stays
        given["eos_token_id"] = _NO_TOKEN
    if model.generation_config.pad_token_id is None:
        known = (*sorted(_ends(model)), getattr(tokenizer, "pad_token_id", None), 0)
        given["pad_token_id"] = next(token for token in known if token is not None)
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(int(seed))
        output = model.generate(**inputs_of_ids(model, ids), **(given | dict(further)))
    sequences = output if isinstance(output, torch.Tensor) else output.sequences
    made = [int(token) for token in sequences[0, len(ids) :]]
    if not ignore_end:  # padding behind the end, of beams that were longer
        ends = _ends(model)
        made = made[: next((at + 1 for at, token in enumerate(made) if token in ends), None)]
    if not made:
        raise Error("expected at least one generated token, found none", kind="other")
    return made


def _ends(model: Any) -> set[int]:
    found = model.generation_config.eos_token_id
    return set() if found is None else {int(token) for token in (found if isinstance(found, list) else [found])}
