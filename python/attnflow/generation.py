"""What a model writes, and what each of its tokens depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from attnflow import _core
from attnflow.backend import Backend, begun_again, layer_count
from attnflow.capture import explained
from attnflow.errors import Error, unsupported
from attnflow.hints import GenerationOptions, counted, describes_options
from attnflow.inputs import Given, given_once
from attnflow.joint import is_encoder_decoder
from attnflow.model_inputs import check_ids, encoded, positions
from attnflow.progress import progress_bar
from attnflow.report import Report
from attnflow.text import Encoded, encode, ends_of, never_written, require_words, target_begin
from attnflow.writing import require_free, target_given, written


class GeneratedBackend(Backend):
    """A model with its prompt, and the text that it has generated.

    An encoder-decoder's prompt is its source. The text is the target, which begins with tokens that were not chosen.
    """

    made: list[int]
    stopped: str
    never: list[int]  # tokens that the model never writes

    def _logits(self, output: Any, positions: Sequence[int]) -> Any:
        found = super()._logits(output, positions)
        if self.never and found is not None:
            found[:, self.never] = float("-inf")
        return found

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
    """Continues a prompt with a loaded decoder of Transformers, or writes the target of an encoder-decoder, and says what
    each generated token depends on.

    The model's own generate() makes the text, with its kernels and its cache; passes over prompt and text then give the
    values. Row t of the report's arrays is of the position that chose generated token t.

    prompt: a text, or its token ids as the tokenizer returns them; for an encoder-decoder, the source.
    inputs, prompt_tokens: instead of prompt, what a tokenizer or processor returned, and names for its tokens.
    tokens: how many, at most. temperature, top_p, seed: 0 takes the most probable token.
    chat, system: whether the prompt is the user's turn in the tokenizer's chat template, and the system turn before it.
    ignore_end: continues past a token that ends the text.
    generation: further arguments of model.generate(), such as {"num_beams": 4} or {"repetition_penalty": 1.2}.
    """
    model = explained(model)
    if not hasattr(model, "generate"):
        raise unsupported(f"expected a model that generates text, found {type(model).__name__}")
    found, is_one = given_once(prompt, inputs, prompt_tokens, tokenizer, model, "prompt", "prompt_tokens")
    given = _one_prompt(found, is_one, chat)
    require_free(generation or {})
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
    is_joint, further = is_encoder_decoder(model), generation or {}
    begin = target_begin(model, further) if is_joint else []

    def backend(facts: dict[str, Any]) -> GeneratedBackend:
        found = GeneratedBackend(model, tokenizer, [prompted], asked, facts)
        found.begin = begin
        found.never = never_written(model, further) if is_joint else []
        return found

    if _core.mixing_info(asked.get("mixing") or "auto").needs != "attention":
        backend({}).require_layers()
    room = positions(model)
    before = begin or prompted.ids  # the generated tokens stand behind these
    most = tokens if room is None else min(tokens, room - len(before) + 1)
    sampling = {"temperature": temperature, "top_p": top_p, "top_k": 0} if temperature > 0 else {}
    made = written(model, tokenizer, prompted.ids, begin, most, ignore_end, seed, sampling, further)
    ended = len(made) < most or (made[-1] in ends_of(model, further) and not ignore_end)
    stopped = "end" if ended else "length" if len(made) >= tokens else "context"
    if chat:
        asked["user"] = given.text
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


def _one_prompt(found: Sequence[Given], is_one: bool, chat: bool) -> Given:
    if not is_one:
        raise Error(f"prompt: expected one prompt, found a list of {len(found)}; call generate() for each")
    if found[0].pair is not None:
        raise Error("prompt: expected one text, found a pair; join its texts")
    if found[0].target is not None:
        raise target_given("prompt")
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
