"""Which input tokens each output of a Transformer depends on: attention rollout and attention flow.

    import attnflow
    report = attnflow.attribute(model(**inputs, output_attentions=True).attentions, tokens=tokens)
    report          # in a notebook: the interactive page

Attention comes as a framework hands it over (NumPy, PyTorch, JAX, ...); numbers go out as NumPy arrays. Options have the
names and meanings of the command line's (`attnflow explain --help`), with underscores.
"""

from attnflow import _core
from attnflow.attribution import attribute, flow, raw, rollout
from attnflow.errors import Error
from attnflow.notebook import show
from attnflow.report import Report

__version__ = _core.version()

__all__ = ["Error", "Report", "__version__", "attribute", "flow", "raw", "rollout", "show"]
