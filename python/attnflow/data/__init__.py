"""Corpora: a row in, a row out, into Parquet files that survive whatever ends the work.

attnflow.data.explain(dataset, model, tokenizer, "out", column="text")       # an iterable, or a dataset of Hugging Face
attnflow.data.explain_ray(dataset, Loader("model"), column="text")             # one of Ray Data, on many machines
"""

from attnflow.data.local import explain, read
from attnflow.data.ray import explain_ray
from attnflow.data.rows import Explainer, schema

__all__ = ["Explainer", "explain", "explain_ray", "read", "schema"]
