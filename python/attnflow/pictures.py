"""A picture in, a report out: a loaded vision model and its image processor as a backend."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from attnflow import _core
from attnflow.backend import Backend, begun_again
from attnflow.errors import Error, unsupported
from attnflow.joint import is_encoder_decoder
from attnflow.progress import progress_bar
from attnflow.report import Report
from attnflow.wrapped import kinds_of

_LONGEST_SHOWN = 640  # pixels of a report's picture


@dataclass
class ImageInfo:
    """The grid of patches, and the tokens before it (attnflow/model/image_info.h)."""

    channels: int
    height: int
    width: int
    patch_height: int
    patch_width: int
    has_class: bool
    has_distillation: bool
    registers: int

    def tokens(self, height: int, width: int) -> int:
        leading: int = self.has_class + self.has_distillation + self.registers
        return int(leading) + (height // self.patch_height) * (width // self.patch_width)


def takes_pictures(model: Any) -> bool:
    """Whether pictures are all that it takes."""
    if getattr(model, "main_input_name", "") != "pixel_values":
        return False
    if is_encoder_decoder(model) or hasattr(model.config, "text_config"):
        raise unsupported(
            f"expected a model of pictures alone, or of texts alone, found {type(model).__name__}; use capture(), which "
            "takes what the model takes, and attribute()"
        )
    return True


class PictureBackend(Backend):
    """A vision model with one picture; what is its `ids` elsewhere are pixels here."""

    vocabulary = 0

    def __init__(self, model: Any, processor: Any, picture: Any, asked: dict[str, Any], facts: dict[str, Any]) -> None:
        super().__init__(model, None, [], asked, facts)
        path = picture if isinstance(picture, str | PathLike) else getattr(picture, "filename", "")
        self.picture_name = Path(path or "picture").name
        self.image = image_info(model)
        read = getattr(processor, "image_processor", processor)
        if not hasattr(read, "to_json_string"):
            raise Error(
                f"expected the image processor of the model (AutoImageProcessor), found {type(processor).__name__}"
            )
        self.processor_json = str(read.to_json_string())
        self._upright = upright(picture)
        self._leading = self.image.has_class + self.image.has_distillation

    @property
    def pixels(self) -> Any:
        import numpy as np

        return np.ascontiguousarray(np.asarray(self._upright, dtype=np.uint8))

    @property
    def shown(self) -> tuple[bytes, int, int]:
        """The PNG file that a report shows, its width and height."""
        picture = self._upright.copy()
        picture.thumbnail((_LONGEST_SHOWN, _LONGEST_SHOWN))
        file = io.BytesIO()
        picture.save(file, "png")
        return file.getvalue(), picture.width, picture.height

    def _inputs(self, pixels: Any, _: Any) -> dict[str, Any]:
        import torch

        some = next(self.model.parameters())
        values = torch.from_numpy(pixels)[None].to(device=some.device, dtype=some.dtype)
        inputs: dict[str, Any] = {"pixel_values": values}
        if tuple(values.shape[2:]) != (self.image.height, self.image.width):
            inputs["interpolate_pos_encoding"] = True
        return inputs

    def _own_inputs(self) -> dict[str, Any]:
        import numpy as np

        shape = (self.image.channels, self.image.height, self.image.width)
        return self._inputs(np.cos(np.arange(np.prod(shape), dtype=np.float32)).reshape(shape), [])

    def _count(self, pixels: Any) -> int:
        _, height, width = pixels.shape
        count: int = self.image.tokens(int(height), int(width))
        return count


def image_info(model: Any) -> ImageInfo:
    config = model.config

    def pair(value: Any) -> tuple[int, int]:
        return (int(value[0]), int(value[1])) if isinstance(value, Sequence) else (int(value), int(value))

    size, patch = getattr(config, "image_size", None), getattr(config, "patch_size", None)
    if size is None or patch is None:
        raise unsupported(
            f"expected a vision model of patches (image_size and patch_size in its configuration), found "
            f"{type(model).__name__}"
        )
    tokens = {name.rpartition(".")[2]: one for name, one in model.named_parameters() if "token" in name}
    registers = tokens.get("register_tokens")
    return ImageInfo(
        int(getattr(config, "num_channels", 3)),
        *pair(size),
        *pair(patch),
        has_class="cls_token" in tokens
        or any(name.endswith("class_embedding") for name, _ in model.named_parameters()),
        has_distillation="distillation_token" in tokens,
        registers=0 if registers is None else int(registers.shape[1]),
    )


def upright(picture: Any) -> Any:
    """A picture of PIL in RGB, turned as its file says."""
    from PIL import Image, ImageOps

    if isinstance(picture, str | PathLike):
        try:
            picture = Image.open(Path(picture))
        except OSError as error:  # PIL's own errors are some
            raise Error(f"expected the path of a picture, found {str(picture)!r}: {error}", kind="bad_input") from error
    elif (
        "numpy.ndarray" in kinds_of(picture)
        and picture.dtype == "uint8"
        and (picture.ndim == 2 or picture.shape[2:] in ((3,), (4,)))
    ):
        picture = Image.fromarray(picture)
    if "PIL.Image" not in kinds_of(picture):
        raise Error(
            f"expected a picture: PIL's, an array [height, width, 3] of bytes, or a path, found {type(picture).__name__}"
        )
    return ImageOps.exif_transpose(picture).convert("RGB")


def explain_picture(model: Any, processor: Any, picture: Any, check: str, asked: dict[str, Any]) -> Report:
    def explain(facts: dict[str, Any]) -> _core.Report:
        with progress_bar() as progress:
            backend = PictureBackend(model, processor, picture, asked, facts)
            return _core.explain_picture(backend, asked, check, progress)

    return Report(begun_again(model, asked, explain))
