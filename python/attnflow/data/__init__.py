"""Explains corpora row by row, into Parquet files that survive an interruption.

attnflow.data.explain(dataset, model, tokenizer, "out", column="text")       # an iterable, or a Hugging Face dataset
attnflow.data.explain_ray(dataset, Loader("model"), column="text")             # a Ray Data dataset, on many machines
"""

from attnflow.data.local import explain, read
from attnflow.data.ray import explain_ray
from attnflow.data.rows import Explainer, schema

__all__ = ["Explainer", "explain", "explain_ray", "read", "schema"]
