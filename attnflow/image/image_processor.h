// From a picture to what a vision model takes: preprocessor_config.json, carried out.
//
// Definition. With the processors of Hugging Face transformers for ViT, DeiT, DINOv2 (BitImageProcessor), CLIP and
// SigLIP, in this order and each only where the configuration says so:
//
//   1. resize     to size {height, width}; or so that the shorter edge is shortest_edge and the longer one is
//                 floor(shortest_edge long / short), not above longest_edge where that is given; by PIL's resampling
//                 (resize.h), in 8 bits;
//   2. crop       crop_size pixels from the middle: row floor((h - crop_h) / 2) on, columns likewise. Where the picture
//   is
//                 smaller, zeros (black) are put around it, one more above and left when the number is odd;
//   3. rescale    v = float32(float64(pixel) rescale_factor), 1/255 by default;
//   4. normalise  (v - mean_c) / std_c in float32.
//
// A model of one channel gets grey (to_grey of resize.h), made before the first step.
//
// DINOv3's processor resizes after it rescales, in float32: its pixels differ from these by up to half a 255th.
//
// transformers has two processors for each other model. This is the one on PIL ("slow" before version 5); the one on
// torchvision resamples tensors and differs from it by up to a few 255ths. Here and there, equal settings give equal
// pixels: golden files are met to the last bit where the decoder gives the same picture.
//
// Only PIL's filters and these settings are understood. Any other setting is an error that names it, unless it is
// switched off or known to change no pixel: better no map than one of a picture that the model was not trained on.
//
// Source: transformers 5.23, image_processing_backends.py (PilBackend) and image_transforms.py.
// Cost: that of resize(), for the pixels that the crop keeps only; O(input pixels) for the rest. Deterministic.
#ifndef ATTNFLOW_IMAGE_IMAGE_PROCESSOR_H_
#define ATTNFLOW_IMAGE_IMAGE_PROCESSOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/image/picture.h"
#include "attnflow/image/resize.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// What to resize to: {height, width}, or {shortest_edge} with or without {longest_edge}. 0: not given.
struct TargetSize {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t shortest_edge = 0;
  std::size_t longest_edge = 0;
};

struct ImageProcessor {
  std::string type = "ViTImageProcessor";  // transformers' class, without "Fast"
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
  // model_type of the model's config.json: says which class's defaults hold when the configuration names none, as the
  // first ViT models' do.
  std::string model_type = {};
};

// Reads the text of a preprocessor_config.json. `source` begins every message. Throws Error(kBadFile): no JSON, values
// of the wrong type or out of range, means that do not fit the channels; Error(kUnsupportedModel) that names the
// setting: a class or a setting that is not understood.
ImageProcessor read_image_processor(std::string_view text, const std::string& source,
                                    const ImageProcessorOptions& options = {});

// A part of a picture, in pixels from its left upper corner: pixel (x, y) covers [x, x + 1] x [y, y + 1].
struct Rectangle {
  double left = 0.0;
  double top = 0.0;
  double right = 0.0;
  double bottom = 0.0;
};

// How the model's input lies in the picture. Pictures are upright (picture.h).
struct InputGeometry {
  std::size_t picture_height = 0;
  std::size_t picture_width = 0;
  std::size_t resized_height = 0;
  std::size_t resized_width = 0;
  std::ptrdiff_t top = 0;  // of the input in the resized picture; negative where black was put around it
  std::ptrdiff_t left = 0;
  std::size_t input_height = 0;
  std::size_t input_width = 0;

  // A rectangle of the input, in input pixels, as one of the picture. Resizing maps pixel edges to pixel edges:
  // x_picture = (x_input + left) picture_width / resized_width.
  Rectangle in_picture(const Rectangle& in_input) const;
  // What the model sees, in pixels of the picture. Reaches beyond the picture where black was put around it.
  Rectangle seen() const {
    return in_picture({0.0, 0.0, static_cast<double>(input_width), static_cast<double>(input_height)});
  }
};

// Throws Error(kBadFile) for an input without pixels, or of more than 2^24 (4096 x 4096), which a long thin picture can
// become when nothing is cropped.
InputGeometry input_geometry(std::size_t picture_height, std::size_t picture_width, const ImageProcessor& processor);

// The picture after steps 1 and 2: [input_height, input_width, channels], 8 bits. Throws as input_geometry().
Tensor<std::uint8_t> input_pixels(const Picture& picture, const ImageProcessor& processor);

// The model's input: [channels, input_height, input_width]. Throws as input_geometry().
Tensor<float> pixel_values(const Picture& picture, const ImageProcessor& processor);

}  // namespace attnflow

#endif  // ATTNFLOW_IMAGE_IMAGE_PROCESSOR_H_
