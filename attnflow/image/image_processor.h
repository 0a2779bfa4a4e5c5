// Turns a picture into a vision model's input, as its preprocessor_config.json specifies.
//
// Definition. The steps of the Hugging Face transformers processors for ViT, DeiT, DINOv2 (BitImageProcessor), CLIP and
// SigLIP, in this order, each only if the configuration enables it:
//
//   1. resize     to size {height, width}; or so that the shorter edge is shortest_edge and the longer one is
//                 floor(shortest_edge long / short), or, if that would exceed a given longest_edge, so that the longer
//                 edge is about longest_edge and the shorter one in proportion; by PIL's resampling (resize.h), in 8
//                 bits;
//   2. crop       crop_size pixels from the middle: rows from floor((h - crop_h) / 2) on, columns likewise. A smaller
//                 picture is padded with zeros (black), with one more above and on the left if the number is odd;
//   3. rescale    v = float32(float64(pixel) rescale_factor), 1/255 by default;
//   4. normalize  (v - mean_c) / std_c in float32.
//
// A model with one channel gets gray (to_grey of resize.h), computed before the first step.
//
// For DINOv3, transformers resizes after rescaling, in float32. The same steps are used here, so pixels differ from
// those of transformers by up to half a 255th.
//
// For every other model, transformers has two processors. This follows the one based on PIL ("slow" before version 5);
// the one based on torchvision resamples tensors and differs by up to a few 255ths. Equal settings give the same pixels
// here as in transformers: golden files match to the last bit if the decoder gives the same picture.
//
// Only PIL's filters and these settings are supported. Any other setting is an error that names it, unless it is
// switched off or known not to change any pixel: no map is better than one for a picture unlike those that the model
// was trained on.
//
// Source: transformers 5.23, image_processing_backends.py (PilBackend) and image_transforms.py. Cost: that of resize(),
// limited to the pixels that the crop keeps; O(input pixels) for the rest. Deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/image/picture.h"
#include "attnflow/image/resize.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// The size to resize to: {height, width}, or {shortest_edge} with or without {longest_edge}. 0: not given.
struct TargetSize {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t shortest_edge = 0;
  std::size_t longest_edge = 0;
};

struct ImageProcessor {
  std::string type = "ViTImageProcessor";  // the transformers class, without "Fast"
  std::size_t channels = 3;                // 1 or 3

  bool do_resize = true;
  TargetSize size = {224, 224, 0, 0};
  Resampling resample = Resampling::kBilinear;

  bool do_center_crop = false;
  std::size_t crop_height = 0;
  std::size_t crop_width = 0;

  bool do_rescale = true;
  double rescale_factor = 1.0 / 255.0;

  bool do_normalize = true;
  std::vector<double> image_mean = {0.5, 0.5, 0.5};  // [channels]
  std::vector<double> image_std = {0.5, 0.5, 0.5};   // [channels]
};

struct ImageProcessorOptions {
  std::size_t channels = 3;  // num_channels of the model's config.json: 1 or 3
  // model_type of the model's config.json: selects the class whose defaults apply when the configuration names no
  // class, as with the first ViT models.
  std::string model_type = {};
};

// Every message begins with `source`. Throws Error(kBadFile) for text that is not JSON, values of the wrong type or out
// of range, and means that do not match the channels; Error(kUnsupportedModel) naming a class or setting that is not
// supported.
ImageProcessor read_image_processor(std::string_view text, const std::string& source,
                                    const ImageProcessorOptions& options = {});

// A part of a picture, in pixels from its top left corner: pixel (x, y) covers [x, x + 1] x [y, y + 1].
struct Rectangle {
  double left = 0.0;
  double top = 0.0;
  double right = 0.0;
  double bottom = 0.0;
};

// Maps the model's input to the picture. Pictures are upright (picture.h).
struct InputGeometry {
  std::size_t picture_height = 0;
  std::size_t picture_width = 0;
  std::size_t resized_height = 0;
  std::size_t resized_width = 0;
  std::ptrdiff_t top = 0;  // of the input in the resized picture; negative if padded with black
  std::ptrdiff_t left = 0;
  std::size_t input_height = 0;
  std::size_t input_width = 0;

  // Maps a rectangle of the input, in input pixels, to the picture. Resizing maps pixel edges to pixel edges: x_picture
  // = (x_input + left) picture_width / resized_width.
  Rectangle in_picture(const Rectangle& in_input) const;
  // The part that the model sees, in pixels of the picture. Extends beyond the picture if it was padded with black.
  Rectangle seen() const {
    return in_picture({0.0, 0.0, static_cast<double>(input_width), static_cast<double>(input_height)});
  }
};

// Throws Error(kBadFile) for an input without pixels, or of more than 2^24 (4096 x 4096), which can result from a long
// thin picture if nothing is cropped.
InputGeometry input_geometry(std::size_t picture_height, std::size_t picture_width, const ImageProcessor& processor);

// The picture after steps 1 and 2: [input_height, input_width, channels], 8 bits. Throws as input_geometry().
Tensor<std::uint8_t> input_pixels(const Picture& picture, const ImageProcessor& processor);

// The model's input: [channels, input_height, input_width]. Throws as input_geometry().
Tensor<float> pixel_values(const Picture& picture, const ImageProcessor& processor);

}  // namespace attnflow
