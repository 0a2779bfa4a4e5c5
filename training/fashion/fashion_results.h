// What a written model says to the test pictures of Fashion-MNIST.
#ifndef ATTNFLOW_TRAINING_FASHION_FASHION_RESULTS_H_
#define ATTNFLOW_TRAINING_FASHION_FASHION_RESULTS_H_

#include <cstddef>
#include <filesystem>
#include <stop_token>
#include <vector>

#include "training/fashion/fashion_data.h"
#include "training/trainer/results.h"

namespace attnflow {

struct FashionResults {
  // confusion[label][answer]: how often the model gave `answer` to a picture of `label`. [10][10]
  std::vector<std::vector<std::size_t>> confusion;

  Score all() const;
  Score of(std::size_t label) const;
};

FashionResults summarize_fashion(const std::vector<std::size_t>& labels, const std::vector<std::size_t>& answers);

// Loads the model in `folder` and asks it about `pictures`, each a picture like any other: through the folder's
// preprocessor_config.json. The answer is the first label of the largest logit. Throws as load_trained and
// read_image_processor do, and Cancelled.
FashionResults measure_fashion(const std::filesystem::path& folder, const LabelledPictures& pictures,
                               std::size_t threads, const std::stop_token& stop_token);

}  // namespace attnflow

#endif  // ATTNFLOW_TRAINING_FASHION_FASHION_RESULTS_H_
