"""Shows which input tokens each output of a Transformer depends on, by attention rollout and attention flow.

    import attnflow
    report = attnflow.explain(model, tokenizer, "The key to the cabinets")   # a Transformers model, whatever its kernel
    report                                                                   # in a notebook: the interactive page
    attnflow.rollout(attentions)                                             # arrays in, arrays out

Takes attention from any framework (NumPy, PyTorch, JAX, ...); gives NumPy arrays. Options are those of the command line
(`attnflow explain --help`), with underscores.
"""

from attnflow import _core, data
from attnflow.attribution import attribute, flow, raw, rollout
from attnflow.capture import Captured as Captured
from attnflow.capture import capture
from attnflow.comparison import Comparison as Comparison
from attnflow.comparison import compare
from attnflow.errors import Error
from attnflow.evaluation import Evaluation as Evaluation
from attnflow.evaluation import evaluate
from attnflow.explanation import explain
from attnflow.generation import generate
from attnflow.layers import LayerParts, register_layer
from attnflow.notebook import show
from attnflow.report import Check as Check
from attnflow.report import MapCheck as MapCheck
from attnflow.report import Report

__version__ = _core.version()

__all__ = [
    "Error",
    "LayerParts",
    "Report",
    "__version__",
    "attribute",
    "capture",
    "compare",
    "data",
    "evaluate",
    "explain",
    "flow",
    "generate",
    "raw",
    "register_layer",
    "rollout",
    "show",
]


def __dir__() -> list[str]:
    """What is for users: the modules behind it stay out of completions."""
    return __all__
