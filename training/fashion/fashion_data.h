// Fashion-MNIST (attnflow/image/fashion_mnist.h) as training data.
//
// A random part of the training images is held out for validation; the test images are those of the data set.
//
// A different share of the training images is altered each time: shifted by up to `shift` pixels down or up and right
// or left (black enters at the border), and mirrored with probability `mirror`. Neither changes the label. If all were
// altered, a small model would learn much more slowly, because a patch's position no longer indicates its content
// (after one epoch 76% of the test images were classified correctly, 83% without).
//
// Normalization. Pixels become (p / 255 - mean) / deviation, with the mean and standard deviation of all training
// pixels, rounded to four digits, so that the values in a configuration are exactly those used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attnflow/base/random.h"
#include "attnflow/image/fashion_mnist.h"
#include "training/trainer/batch_plan.h"
#include "training/trainer/trainer.h"

namespace attnflow {

struct FashionData {
  LabelledPictures train;
  LabelledPictures validation;
  LabelledPictures test;
};

struct FashionDataOptions {
  std::uint64_t seed = 1;              // for the choice of the validation part
  double validation_share = 1.0 / 12;  // of the training images; at least one image each for validation and training
};

// Reads the data set in `folder`. Throws as read_fashion_part, and Error(kBadFile) for fewer than two training images.
FashionData read_fashion(const std::filesystem::path& folder, const FashionDataOptions& options = {});

struct PixelScale {
  double mean = 0.0;  // of p / 255
  double deviation = 1.0;

  // The value for each of the 256 pixel values, bitwise as from an image processor with these settings.
  std::array<float, 256> table() const;
};

// Measures the scale of these images. If they have no contrast at all, deviation remains 1.
PixelScale measure_scale(const LabelledPictures& pictures);

struct Augmentation {
  std::uint64_t seed = 1;
  double share = 0.5;     // of the images
  std::size_t shift = 2;  // pixels, below 28
  double mirror = 0.5;
};

// Writes an image, altered or not, to `out`: [28 * 28].
void augment(std::span<const std::uint8_t> picture, const Augmentation& augmentation, Random& random,
             std::span<std::uint8_t> out);

// Returns the batch of a shard of `pictures`. An image's alteration depends only on the augmentation's seed, the step
// and the image's index.
TrainingBatch picture_batch(const LabelledPictures& pictures, const Shard& shard, const PixelScale& scale);
TrainingBatch picture_batch(const LabelledPictures& pictures, const Shard& shard, const PixelScale& scale,
                            const Augmentation& augmentation, std::size_t step);

}  // namespace attnflow
