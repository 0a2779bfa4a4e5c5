"""Checks whether the program gives a text the right token ids.

The program reports pieces, not ids. So each folder has a tiny random BERT, whose attention in transformers, given the
right ids and type ids, is compared: any wrong id changes the numbers.
"""

import base64
import importlib.util
import sys
from pathlib import Path

import numpy as np
import torch
import transformers

ROOT = Path(__file__).resolve().parent.parent.parent
# Loaded by path: other test folders have a module with the same name.
specification = importlib.util.spec_from_file_location("serve_support", ROOT / "tests" / "serve" / "support.py")
serving = importlib.util.module_from_spec(specification)
sys.modules["serve_support"] = serving
specification.loader.exec_module(serving)
PROGRAM, Server = serving.PROGRAM, serving.Server

TOLERANCE = 2e-5
VOCABULARY = 1500
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def model_of_ids() -> transformers.BertModel:
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.BertConfig(vocab_size=VOCABULARY, type_vocab_size=3, max_position_embeddings=256, **sizes)
    model = transformers.AutoModel.from_config(config, attn_implementation="eager").eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def ask(server: Server, model: str, text: str, pair: str | None = None):
    asked = {"model": model, "text": text, "method": ["raw"], "keep_attention": True}
    return server.post("explain", asked if pair is None else asked | {"pair": pair})


def difference(model: transformers.BertModel, report: dict, ids: list[int], types: list[int]) -> float:
    """How far the report's attention is from that of these ids; infinity if the number of tokens differs."""
    if len(report["input"]["tokens"]) != len(ids):
        return float("inf")
    with torch.no_grad():
        output = model(torch.tensor([ids]), token_type_ids=torch.tensor([types]), output_attentions=True)
    array = report["arrays"]["attention"]
    if array["dtype"] != "f32":
        raise AssertionError(array["dtype"])
    attention = np.frombuffer(base64.b64decode(array["data"]), dtype="<f4").reshape(array["shape"])
    expected = torch.stack(output.attentions)[:, 0].numpy()
    if attention.shape != expected.shape:
        raise AssertionError(f"{attention.shape}, {expected.shape}")
    return float(np.abs(attention - expected).max())
