// Fashion-MNIST (attnflow/image/fashion_mnist.h) to train on.
//
// A part of the training pictures, chosen at random, is kept apart for validation; the test pictures are those of the
// data set.
//
// A share of the training pictures, others each time, is seen changed: moved by up to `shift` pixels down or up and
// right or left (black enters at the border), and mirrored with probability `mirror`. Both leave its kind as it is. The
// other pictures are seen as they are: where all are changed, a small model learns much more slowly, because a patch's
// place no longer says what it shows (after one epoch 76% of the test pictures were told right, 83% without).
//
// Normalisation. Pixels become (p / 255 - mean) / deviation, with the mean and the standard deviation of all pixels of
// the training part, rounded to four digits, so that what a configuration states is what was used.
#ifndef ATTNFLOW_TRAINING_FASHION_FASHION_DATA_H_
#define ATTNFLOW_TRAINING_FASHION_FASHION_DATA_H_

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
  std::uint64_t seed = 1;              // of the choice of the validation part
  double validation_share = 1.0 / 12;  // of the training pictures; one at least, and one at least is trained on
};

// The data set in `folder`. Throws as read_fashion_part, and Error(kBadFile) for fewer than two training pictures.
FashionData read_fashion(const std::filesystem::path& folder, const FashionDataOptions& options = {});

struct PixelScale {
  double mean = 0.0;  // of p / 255
  double deviation = 1.0;

  // The value of each of the 256 pixels, to the last bit what an image processor of these settings makes of it.
  std::array<float, 256> table() const;
};

// Of these pictures. One that has no contrast at all keeps a deviation of 1.
PixelScale measure_scale(const LabelledPictures& pictures);

struct Augmentation {
  std::uint64_t seed = 1;
  double share = 0.5;     // of the pictures
  std::size_t shift = 2;  // pixels, below 28
  double mirror = 0.5;
};

// A picture, changed or not: [28 * 28] into `out`.
void augment(std::span<const std::uint8_t> picture, const Augmentation& augmentation, Random& random,
             std::span<std::uint8_t> out);

// The batch of a shard of `pictures`. With an augmentation, how a picture is changed follows from its seed, the step
// and the picture's number alone.
TrainingBatch picture_batch(const LabelledPictures& pictures, const Shard& shard, const PixelScale& scale);
TrainingBatch picture_batch(const LabelledPictures& pictures, const Shard& shard, const PixelScale& scale,
                            const Augmentation& augmentation, std::size_t step);

}  // namespace attnflow

#endif  // ATTNFLOW_TRAINING_FASHION_FASHION_DATA_H_
