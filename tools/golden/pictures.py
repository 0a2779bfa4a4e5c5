"""Pictures: files of every kind as read by PIL, PIL's resampling, and the pixel values of transformers' processors.

On its own: .cache/golden/venv/bin/python tools/golden/pictures.py tests/golden/pictures
"""

import io
import shutil
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import transformers
from golden_io import write_json, write_npz
from PIL import Image, ImageOps
from transformers.image_transforms import convert_to_rgb

ROOT = Path(__file__).resolve().parent.parent.parent
PHOTOGRAPHS = ROOT.parent / "shared" / "data" / "images"
FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}


def scene(width, height, seed, channels=3, noise=6):
    """Gradients, an edge and some noise, uint8 [height, width, channels]."""
    random = np.random.RandomState(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for channel in range(channels):
        slope = 127 + 110 * np.sin(x / (3.0 + width / 9) + channel) * np.cos(y / (2.0 + height / 7) - channel)
        slope[(x > width * 0.6) & (y < height * 0.4)] = 250 - 60 * channel
        planes.append(slope)
    values = np.stack(planes, axis=-1) + random.randint(-noise, noise + 1, (height, width, channels))
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def image(array):
    return Image.fromarray(array[..., 0] if array.shape[-1] == 1 else array)


# PNG features that PIL cannot write: 16-bit color, few bits, interlaced.

ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(samples, bits, color_type, interlaced=False, extra=()):
    """samples [height, width, channels], unsigned integers of `bits` bits; `extra` chunks come before the data."""
    height, width, _ = samples.shape

    def rows(part):
        packed = b""
        for row in part:
            values = row.reshape(-1)
            if bits == 16:
                packed += b"\0" + values.astype(">u2").tobytes()
            else:
                each = (values[:, None] >> np.arange(bits - 1, -1, -1)) & 1
                packed += b"\0" + np.packbits(each.astype(np.uint8)).tobytes()
        return packed

    if interlaced:
        parts = [samples[y::dy, x::dx] for x, y, dx, dy in ADAM7]
        data = b"".join(rows(part) for part in parts if part.size)
    else:
        data = rows(samples)
    header = struct.pack(">IIBBBBB", width, height, bits, color_type, 0, 0, int(interlaced))
    chunks = [chunk(b"IHDR", header), *(chunk(*item) for item in extra), chunk(b"IDAT", zlib.compress(data, 9))]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + chunk(b"IEND", b"")


def saved(picture, form, **options):
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


def exif_with(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif.tobytes()


def without_adobe(jpeg):
    """Removes the APP14 segment, which says that inks are stored inverted."""
    at = jpeg.index(b"\xff\xee\x00\x0eAdobe")
    return jpeg[:at] + jpeg[at + 16 :]


def as_ycck(jpeg):
    """A CMYK file relabeled as YCCK: other colors, stored in the same way."""
    at = jpeg.index(b"Adobe") + 11
    assert jpeg[at] == 0
    return jpeg[:at] + b"\x02" + jpeg[at + 1 :]


def png_files():
    rgb = scene(21, 14, 1)
    grey = rgb[..., :1]
    alpha = scene(21, 14, 2, 1)
    palette = image(rgb).quantize(31)
    few = image(rgb).quantize(13)
    wide = (rgb.astype(np.uint16) << 8) | np.random.RandomState(3).randint(0, 256, rgb.shape).astype(np.uint16)
    wide_alpha = (alpha.astype(np.uint16) << 8) | 0x5A
    key = tuple(int(v) for v in rgb[5, 5])
    yield "png_rgb", saved(image(rgb), "PNG")
    yield "png_rgba", saved(image(np.concatenate([rgb, alpha], -1)), "PNG")
    yield "png_grey", saved(image(grey), "PNG")
    yield "png_grey_alpha", saved(image(np.concatenate([grey, alpha], -1)), "PNG")
    yield "png_palette", saved(palette, "PNG")
    yield "png_palette_4", saved(few, "PNG", bits=4)
    yield "png_palette_alpha", saved(palette, "PNG", transparency=bytes(range(0, 248, 8)))
    yield "png_grey_1", saved(image(grey).convert("1"), "PNG")
    yield "png_grey_2", png(grey >> 6, 2, 0)
    yield "png_grey_4", png(grey >> 4, 4, 0)
    yield "png_rgb_key", saved(image(rgb), "PNG", transparency=key)
    yield "png_grey_key", saved(image(grey), "PNG", transparency=int(grey[3, 3, 0]))
    yield "png_grey_16", png(wide[..., :1], 16, 0)
    yield "png_grey_alpha_16", png(np.concatenate([wide[..., :1], wide_alpha], -1), 16, 4)
    yield "png_rgb_16", png(wide, 16, 2)
    yield "png_rgba_16", png(np.concatenate([wide, wide_alpha], -1), 16, 6)
    yield "png_interlaced", png(rgb, 8, 2, interlaced=True)
    yield "png_interlaced_16", png(np.concatenate([wide, wide_alpha], -1), 16, 6, interlaced=True)
    yield "png_interlaced_1", png(grey >> 7, 1, 0, interlaced=True)
    yield "png_interlaced_tiny", png(rgb[:1, :2], 8, 2, interlaced=True)
    yield "png_1x1", saved(image(rgb[:1, :1]), "PNG")
    yield "png_exif_6", saved(image(rgb), "PNG", exif=exif_with(6))
    # A profile and text change nothing.
    extra = [(b"gAMA", struct.pack(">I", 100000)), (b"tEXt", b"Title\0golden"), (b"tIME", bytes(7))]
    yield "png_gamma", png(rgb, 8, 2, extra=extra)


def jpeg_files():
    rgb = image(scene(29, 19, 4))
    inks = Image.frombytes("CMYK", (29, 19), scene(29, 19, 5, 4).tobytes())
    plain = saved(inks, "JPEG", quality=92)
    yield "jpeg_444", saved(rgb, "JPEG", quality=95, subsampling=0)
    yield "jpeg_422", saved(rgb, "JPEG", quality=90, subsampling=1)
    yield "jpeg_420", saved(rgb, "JPEG", quality=85, subsampling=2)
    yield "jpeg_rgb", saved(rgb, "JPEG", quality=92, keep_rgb=True)
    yield "jpeg_grey", saved(rgb.convert("L"), "JPEG", quality=90)
    yield "jpeg_progressive", saved(rgb, "JPEG", quality=88, progressive=True)
    yield "jpeg_restart", saved(rgb, "JPEG", quality=88, restart_marker_rows=1)
    yield "jpeg_1x1", saved(rgb.crop((0, 0, 1, 1)), "JPEG")
    yield "jpeg_cmyk", plain
    yield "jpeg_cmyk_no_adobe", without_adobe(plain)
    yield "jpeg_ycck", as_ycck(plain)
    for orientation in range(1, 9):
        yield f"jpeg_exif_{orientation}", saved(rgb, "JPEG", quality=90, exif=exif_with(orientation))


def webp_files():
    rgb = scene(27, 18, 6)
    rgba = image(np.concatenate([rgb, scene(27, 18, 7, 1)], -1))
    yield "webp_lossy", saved(image(rgb), "WEBP", quality=80)
    yield "webp_lossless", saved(image(rgb), "WEBP", lossless=True)
    yield "webp_lossy_alpha", saved(rgba, "WEBP", quality=80)
    yield "webp_lossless_alpha", saved(rgba, "WEBP", lossless=True, exact=True)
    yield "webp_exif_8", saved(image(rgb), "WEBP", lossless=True, exif=exif_with(8))


def refused_files():
    frames = [image(scene(8, 6, seed)) for seed in (8, 9)]
    yield "refused_animated.png", saved(frames[0], "PNG", save_all=True, append_images=frames[1:])
    yield "refused_animated.webp", saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True)
    yield "refused_gif.png", saved(frames[0], "GIF")  # the name does not match the format


def decode(name, data):
    """Upright 8-bit RGB as in transformers, [height, width, 3]."""
    picture = Image.open(io.BytesIO(data))
    picture.load()
    if name == "png_grey_16":
        # PIL clips 16-bit gray at 255; for every other 16-bit picture it takes the high byte.
        return np.repeat((np.array(picture) >> 8).astype(np.uint8)[..., None], 3, axis=-1)
    return convert_to_rgb(ImageOps.exif_transpose(picture), return_numpy=True)


def write_files(folder):
    entries = {}  # name: [file, orientation]
    arrays = {}
    for name, data in [*png_files(), *jpeg_files(), *webp_files()]:
        ending = {"jpeg": "jpg"}.get(name.split("_")[0], name.split("_")[0])
        (folder / f"{name}.{ending}").write_bytes(data)
        arrays[name] = decode(name, data)
        orientation = Image.open(io.BytesIO(data)).getexif().get(0x0112, 1)
        entries[name] = [f"{name}.{ending}", orientation]
    for name, data in refused_files():
        (folder / name).write_bytes(data)
    write_npz(folder / "decoded.npz", arrays)
    return entries


def write_resizes(folder):
    """Every filter, between sizes that shrink, grow, keep a side, and are very long."""
    inputs = {
        "rgb": scene(37, 23, 10),
        "grey": scene(28, 28, 11, 1),
        "wide": scene(300, 2, 12),
        "tall": scene(2, 211, 13),
        "point": scene(1, 1, 14),
    }
    # width, height. Pillow 13 resamples columns first if the height shrinks by more than twice as much as the width:
    # (33, 15), (24, 20) and (1, 209) shrink by exactly twice as much, the sizes next to them by one pixel more.
    sizes = {
        "rgb": [(16, 16), (50, 31), (37, 10), (11, 23), (1, 1), (23, 37), (38, 24), (2, 40)]
        + [(33, 15), (33, 14), (50, 22), (36, 3)],
        "grey": [(14, 14), (32, 32), (9, 30), (24, 20), (24, 19)],
        "wide": [(20, 20), (7, 1), (310, 1)],
        "tall": [(17, 17), (1, 5), (9, 220), (2, 40), (1, 209), (1, 208)],
        "point": [(7, 5)],
    }
    entries = {}  # name: [input, resample]
    arrays = {f"input_{name}": array for name, array in inputs.items()}
    for name, array in inputs.items():
        for width, height in sizes[name]:
            for kind, number in FILTERS.items():
                result = np.array(image(array).resize((width, height), resample=number))
                case = f"{name}_{width}x{height}_{kind}"
                arrays[case] = result.reshape(height, width, array.shape[-1])
                entries[case] = [f"input_{name}", number]
    write_npz(folder / "resize.npz", arrays)
    return entries


SHARED = {"do_normalize": True, "do_rescale": True, "do_resize": True, "rescale_factor": 0.00392156862745098}
IMAGENET = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
AS_BYTES = {"do_rescale": False, "do_normalize": False}

# name, the file's settings, pictures
PROCESSORS = [
    (
        "vit",
        {"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32}, "resample": 2, **SHARED},
        "all",
    ),
    (
        "vit_flat",
        {"image_processor_type": "ViTFeatureExtractor", "size": 24, "image_mean": 0.4, "image_std": 0.25},
        "few",
    ),
    (
        "vit_oblong",
        {"image_processor_type": "ViTImageProcessorFast", "size": [20, 36], "resample": 3, **IMAGENET},
        "few",
    ),
    (
        "deit",
        {
            "feature_extractor_type": "DeiTFeatureExtractor",
            "size": 40,
            "crop_size": 32,
            "do_center_crop": True,
            "resample": 3,
            **IMAGENET,
        },
        "all",
    ),
    (
        "deit_odd",
        {
            "image_processor_type": "DeiTImageProcessor",
            "size": {"height": 33, "width": 41},
            "crop_size": {"height": 28, "width": 28},
            "resample": 1,
        },
        "few",
    ),
    (
        "dinov2",
        {
            "image_processor_type": "BitImageProcessor",
            "size": {"shortest_edge": 36},
            "crop_size": {"height": 28, "width": 28},
            "do_center_crop": True,
            "do_convert_rgb": True,
            "resample": 3,
            **SHARED,
            **IMAGENET,
        },
        "all",
    ),
    (
        "dinov2_padded",
        {
            "image_processor_type": "BitImageProcessor",
            "size": {"shortest_edge": 17},
            "crop_size": {"height": 30, "width": 25},
            "resample": 3,
            **IMAGENET,
        },
        "all",
    ),
    (
        "crop_only",
        {"image_processor_type": "BitImageProcessor", "do_resize": False, "crop_size": {"height": 29, "width": 34}},
        "all",
    ),
    (
        "dinov2_whole",
        {
            "image_processor_type": "BitImageProcessor",
            "size": {"shortest_edge": 28},
            "do_center_crop": False,
            **IMAGENET,
        },
        "few",
    ),
    (
        "edges",
        {
            "image_processor_type": "BitImageProcessor",
            "size": {"shortest_edge": 28, "longest_edge": 40},
            "do_center_crop": False,
        },
        "all",
    ),
    (
        "clip",
        {
            "feature_extractor_type": "CLIPFeatureExtractor",
            "size": 30,
            "crop_size": 30,
            "do_center_crop": True,
            "do_resize": True,
            "resample": 3,
        },
        "few",
    ),
    (
        "siglip",
        {"image_processor_type": "SiglipImageProcessor", "size": {"height": 28, "width": 28}, "resample": 3},
        "few",
    ),
    (
        "box",
        {
            "image_processor_type": "ViTImageProcessor",
            "size": 21,
            "resample": 4,
            "rescale_factor": 0.01,
            "do_normalize": False,
        },
        "few",
    ),
    (
        "hamming",
        {
            "image_processor_type": "ViTImageProcessor",
            "size": 21,
            "resample": 5,
            "do_rescale": False,
            "image_mean": [120, 110, 100],
            "image_std": [60, 61, 62],
        },
        "few",
    ),
    ("nearest", {"image_processor_type": "ViTImageProcessor", "size": 21, "resample": 0}, "few"),
    (
        "grey",
        {
            "image_processor_type": "ViTImageProcessor",
            "size": {"height": 28, "width": 28},
            "resample": 2,
            "image_mean": [0.2860],
            "image_std": [0.3530],
        },
        "grey",
    ),
    # The defaults of each class, at the size at which models are used.
    ("vit_224", {"image_processor_type": "ViTImageProcessor", **AS_BYTES}, "large"),
    ("deit_224", {"image_processor_type": "DeiTImageProcessor", **AS_BYTES}, "large"),
    ("dinov2_224", {"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 256}, **AS_BYTES}, "large"),
]

# width, height
SIZES = {
    "oblong": (48, 32),
    "upright": (33, 47),
    "odd": (31, 31),
    "small": (20, 15),
    "point": (1, 1),
    "wide": (90, 7),
    "tall": (7, 90),
    "photo": (160, 107),
}
PICTURES = {
    "all": list(SIZES),
    "few": ["upright", "photo"],
    "grey": ["odd", "photo", "fashion"],
    "large": ["smooth"],
}


def processor_of(settings):
    """transformers' PIL processor of the class that the settings name."""
    kind = settings.get("image_processor_type") or settings["feature_extractor_type"]
    kind = kind.removesuffix("Fast").replace("FeatureExtractor", "ImageProcessor")
    return getattr(transformers, f"{kind}Pil").from_dict(dict(settings))


def write_processors(folder):
    pictures = {name: scene(*size, seed=20 + i) for i, (name, size) in enumerate(SIZES.items())}
    pictures["smooth"] = scene(160, 107, 41, noise=0)
    pictures["fashion"] = np.repeat(scene(28, 28, 40, 1), 3, axis=-1)
    write_npz(folder / "pictures.npz", pictures)
    entries = []
    arrays = {}
    large = {}  # one file each
    for name, settings, wanted in PROCESSORS:
        processor = processor_of(settings)
        channels = 1 if wanted == "grey" else 3
        for picture in PICTURES[wanted]:
            given = image(pictures[picture])
            result = processor(given.convert("L") if channels == 1 else given, return_tensors="np")["pixel_values"][0]
            assert result.shape[0] == channels
            (large if wanted == "large" else arrays)[f"{name}_{picture}"] = result
        entries.append({"name": name, "channels": channels, "pictures": PICTURES[wanted], "settings": settings})
    write_npz(folder / "pixel_values.npz", arrays)
    for name, array in large.items():
        write_npz(folder / f"{name}.npz", {"pixel_values": array})
    return entries


def fnv1a(array):
    """64-bit FNV-1a of the bytes."""
    value = 0xCBF29CE484222325
    for byte in np.ascontiguousarray(array).tobytes():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return f"{value:016x}"


def write_photographs(path):
    """Hashes of the pixels of ../shared/data/images, decoded and as inputs of 224 x 224. If the pictures are not there,
    the file is left as it is."""
    if not PHOTOGRAPHS.is_dir():
        shutil.copy(ROOT / "tests" / "golden" / "pictures" / path.name, path)
        return
    processors = [(name, settings) for name, settings, wanted in PROCESSORS if wanted == "large"]
    hashes = {}
    for file in sorted(PHOTOGRAPHS.glob("*.png")):
        rgb = decode(file.name, file.read_bytes())
        inputs = {
            name: fnv1a(np.moveaxis(processor_of(settings)(image(rgb), return_tensors="np")["pixel_values"][0], 0, -1))
            for name, settings in processors
        }
        hashes[file.name] = {"rgb": fnv1a(rgb), **inputs}
    write_json(path, hashes)


def generate(folder):
    folder.mkdir(parents=True)
    index = {"format": "attnflow-golden-pictures", "version": 1}
    index["files"] = write_files(folder)
    index["resizes"] = write_resizes(folder)
    index["processors"] = write_processors(folder)
    write_json(folder / "index.json", index)
    write_photographs(folder / "photographs.json")


if __name__ == "__main__":
    generate(Path(sys.argv[1]))
