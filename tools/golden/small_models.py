"""Small random models: a Hugging Face folder for each, and what transformers computes from it."""

from dataclasses import dataclass

import numpy as np
import random_models
import safetensors.numpy
import safetensors.torch
import small_tokenizers
import torch
from golden_io import cut_to, describe, mask_predictions, softmax, write_json, write_npz
from random_models import fill, load
from small_tokenizers import MAX_TOKENS
from texts import SMALL, SMALL_PAIR, SMALL_WORDS

LABELS = ["negative", "neutral", "positive"]
HEADS = {"MaskedLM": "masked_lm", "SequenceClassification": "classification", "Model": "none"}


@dataclass
class Recipe(random_models.Recipe):
    lower_case: bool = True
    dtype: torch.dtype = torch.float32
    shard_size: str | None = None
    legacy: bool = False

    @property
    def architecture(self):
        """The family that determines its settings and its kind of tokenizer."""
        families = {
            "distilbert": "distilbert",
            "roberta": "roberta",
            "xlmroberta": "roberta",
            "camembert": "roberta",
            "data2vectext": "roberta",
            "albert": "albert",
            "megatronbert": "bert",
            "bert": "bert",
            "ernie": "bert",
        }
        return next(family for start, family in families.items() if self.model_class.lower().startswith(start))

    @property
    def head(self):
        return next(head for ending, head in HEADS.items() if self.model_class.endswith(ending))


RECIPES = [
    Recipe("bert_base", "BertModel", "no head, names without prefix", {"num_hidden_layers": 3}),
    Recipe("bert_masked_lm", "BertForMaskedLM", "decoder.weight stored", {"tie_word_embeddings": False}),
    Recipe("bert_masked_lm_tied", "BertForMaskedLM", "decoder.weight is the word embedding and is not stored"),
    Recipe("bert_classification", "BertForSequenceClassification", "3 named classes, cased", lower_case=False),
    Recipe("bert_sharded", "BertForMaskedLM", "two shards", shard_size="31KB"),
    Recipe("bert_relu", "BertModel", "hidden_act relu", {"hidden_act": "relu"}),
    Recipe("bert_gelu_new", "BertModel", "hidden_act gelu_new", {"hidden_act": "gelu_new"}),
    Recipe("bert_float16", "BertForMaskedLM", "weights in float16, arithmetic in float32", dtype=torch.float16),
    Recipe("bert_legacy", "BertModel", "LayerNorm.gamma and .beta, position_ids, no prefix", legacy=True),
    Recipe("bert_legacy_masked_lm", "BertForMaskedLM", "LayerNorm.gamma and .beta, seq_relationship", legacy=True),
    Recipe("roberta_masked_lm", "RobertaForMaskedLM", "tied, byte-level BPE"),
    Recipe("roberta_classification", "RobertaForSequenceClassification", "head without a pooler"),
    Recipe("distilbert_masked_lm", "DistilBertForMaskedLM", "tied vocab_projector", {"n_layers": 3}),
    Recipe("distilbert_classification", "DistilBertForSequenceClassification", "pre_classifier with relu"),
    Recipe("albert_masked_lm", "AlbertForMaskedLM", "shared layers, gelu_new", {"num_hidden_layers": 3}),
    Recipe("albert_classification", "AlbertForSequenceClassification", "shared layers", {"hidden_act": "gelu"}),
    Recipe("albert_two_groups", "AlbertForMaskedLM", "2 groups", {"num_hidden_layers": 4, "num_hidden_groups": 2}),
    # New models go last: a model's index is its seed.
    Recipe("megatron_bert_masked_lm", "MegatronBertForMaskedLM", "norms before the blocks, tied"),
    Recipe(
        "megatron_bert_classification",
        "MegatronBertForSequenceClassification",
        "norms before the blocks, gelu_new",
        {"num_hidden_layers": 3, "hidden_act": "gelu_new"},
    ),
    Recipe("xlm_roberta_masked_lm", "XLMRobertaForMaskedLM", "as RoBERTa"),
    Recipe("xlm_roberta_classification", "XLMRobertaForSequenceClassification", "as RoBERTa"),
    Recipe("camembert_masked_lm", "CamembertForMaskedLM", "as RoBERTa"),
    Recipe("camembert_classification", "CamembertForSequenceClassification", "as RoBERTa"),
    Recipe("data2vec_text_masked_lm", "Data2VecTextForMaskedLM", "as RoBERTa, with a prefix of its own"),
    Recipe("data2vec_text_classification", "Data2VecTextForSequenceClassification", "as RoBERTa, likewise"),
    Recipe("ernie_masked_lm", "ErnieForMaskedLM", "as BERT, with a prefix of its own"),
    Recipe("ernie_classification", "ErnieForSequenceClassification", "as BERT, with a pooler"),
]


def make_config(recipe, vocabulary):
    # No two of the sizes are equal, so that a transposed or mixed-up weight cannot fit.
    if recipe.architecture == "distilbert":
        sizes = {"dim": 24, "hidden_dim": 40, "n_layers": 2, "n_heads": 4, "max_position_embeddings": MAX_TOKENS}
    else:
        sizes = {"hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4}
        # RoBERTa's positions start after the padding index.
        sizes["max_position_embeddings"] = MAX_TOKENS + (2 if recipe.architecture == "roberta" else 0)
        sizes["type_vocab_size"] = 1 if recipe.architecture == "roberta" else 2
    if recipe.architecture == "albert":
        sizes |= {"embedding_size": 12, "inner_group_num": 1, "hidden_act": "gelu_new"}
    if recipe.architecture == "roberta":
        sizes |= {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    else:
        sizes |= {"pad_token_id": 0}
    return recipe.config(sizes | {"vocab_size": vocabulary}, LABELS if recipe.head == "classification" else ())


def tie_biases(parameters):
    """A head's bias stored under two names is one bias (an untied decoder.bias in transformers 5)."""
    with torch.no_grad():
        for name, parameter in parameters.items():
            if name.endswith("decoder.bias") and name.replace("decoder.bias", "bias") in parameters:
                parameter.copy_(parameters[name.replace("decoder.bias", "bias")])


def rename_to_legacy(folder, head):
    """Rewrites the weights under the names of checkpoints from before 2019."""
    path = folder / "model.safetensors"
    tensors = {}
    for name, tensor in safetensors.numpy.load_file(path).items():
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        tensors[old] = tensor
    random = np.random.RandomState(7)
    if head == "none":
        tensors["embeddings.position_ids"] = np.arange(MAX_TOKENS, dtype=np.int64)[np.newaxis]
    else:
        for name, shape in {
            "cls.seq_relationship.weight": (2, 24),
            "cls.seq_relationship.bias": (2,),
            "bert.pooler.dense.weight": (24, 24),
            "bert.pooler.dense.bias": (24,),
        }.items():
            tensors[name] = random.standard_normal(shape).astype(np.float32)
    safetensors.numpy.save_file(dict(sorted(tensors.items())), path, metadata={"format": "pt"})


def write_folder(recipe, folder, seed):
    """Returns the tokenizer, and the model as it was before being written."""
    folder.mkdir()
    if recipe.architecture == "roberta":
        backend, vocabulary = small_tokenizers.roberta(folder)
    elif recipe.architecture == "albert":
        backend, vocabulary = small_tokenizers.albert(folder)
    else:
        backend, vocabulary = small_tokenizers.bert(folder, recipe.lower_case)
    backend.no_padding()
    backend.no_truncation()

    model = recipe.build(make_config(recipe, vocabulary))
    parameters = sorted(model.named_parameters())
    fill(
        parameters,
        np.random.RandomState(seed),
        lambda name: "norm" in name.lower() or name.endswith(".ln.weight"),
        {"embeddings": 0.5},
    )
    tie_biases(dict(parameters))
    model = model.to(recipe.dtype).eval()
    model.save_pretrained(folder, max_shard_size=recipe.shard_size or "1GB")
    if recipe.legacy:
        rename_to_legacy(folder, recipe.head)

    recipe.require_shards(folder, 2 if recipe.shard_size else 1)
    return backend, model.float()


def make_cases(recipe, backend):
    word, pair_word = SMALL_WORDS
    if recipe.head == "masked_lm":
        word = pair_word = "<mask>" if recipe.architecture == "roberta" else "[MASK]"
    text = SMALL.format(mask=word)
    pair = [part.format(mask=pair_word) for part in SMALL_PAIR]
    cases = [
        # One token, given as an id: no text gives just one.
        {"name": "one", "text": None, "pair": None, "n": 1, "ids": [5], "type_ids": [0]},
        describe("seven", backend, cut_to(backend, text, 7)),
        describe("twenty", backend, cut_to(backend, text, MAX_TOKENS)),
        describe("pair", backend, *pair),
    ]
    for case in cases:
        case["attention"] = "full"
    if cases[-1]["n"] > MAX_TOKENS:
        raise AssertionError(f"{recipe.name}: the pair gives {cases[-1]['n']} tokens")
    return cases


def run(recipe, model, backend, index, case):
    """Arrays of one case; fills in its predictions."""
    inputs = {"input_ids": torch.tensor([case["ids"]])}
    if recipe.architecture != "distilbert":
        inputs["token_type_ids"] = torch.tensor([case["type_ids"]])
    with torch.inference_mode():
        output = model(**inputs, output_attentions=True)
    arrays = {
        "ids": np.array(case["ids"], np.int64),
        "type_ids": np.array(case["type_ids"], np.int64),
        "attention": torch.cat(output.attentions).numpy(),
    }
    if recipe.head == "classification":
        logits = output.logits[0].numpy()
        arrays["logits"] = logits
        arrays["probabilities"] = softmax(logits)
        case["predictions"] = {"labels": LABELS, "probabilities": [float(p) for p in arrays["probabilities"]]}
    if recipe.head == "masked_lm":
        n = case["n"]
        masks = [i for i, token in enumerate(case.get("tokens", [])) if token in ("[MASK]", "<mask>")]
        positions = list(range(n)) if n <= 7 else sorted({0, n - 1, *masks})
        logits = output.logits[0, positions].numpy()
        arrays["logits"] = logits
        arrays["logit_positions"] = np.array(positions, np.int64)
        case["predictions"] = mask_predictions(backend, logits, positions, case["ids"])
    return {f"case{index}_{key}": value for key, value in arrays.items()}


def generate(out):
    out.mkdir()
    models = []
    for seed, recipe in enumerate(RECIPES):
        folder = out / recipe.name
        backend, built = write_folder(recipe, folder, 1000 + seed)
        model = load(recipe, folder, built)
        cases = make_cases(recipe, backend)
        arrays = {}
        for index, case in enumerate(cases):
            arrays |= run(recipe, model, backend, index, case)
        recipe.require_numbers(arrays)
        recipe.require_sharp(arrays["case2_attention"])
        write_npz(out / f"{recipe.name}.npz", arrays)

        entry, config = recipe.entry(folder)
        files = ("vocab.txt", "vocab.json", "merges.txt", "tokenizer.json")
        models.append(
            entry
            | {
                "head": recipe.head,
                "layers": len(arrays["case0_attention"]),
                "heads": arrays["case0_attention"].shape[1],
                "hidden": config.get("hidden_size", config.get("dim")),
                "vocabulary": config["vocab_size"],
                "max_tokens": MAX_TOKENS,
                "labels": LABELS if recipe.head == "classification" else [],
                "tokenizer": " + ".join(name for name in files if (folder / name).exists()),
                "cases": cases,
            }
        )
    write_json(out / "index.json", {"format": "attnflow-golden-models", "version": 1, "models": models})
