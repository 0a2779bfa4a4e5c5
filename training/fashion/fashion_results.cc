#include "training/fashion/fashion_results.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <numeric>

#include "attnflow/files/atomic_file.h"
#include "attnflow/image/image_processor.h"
#include "training/trainer/new_model.h"

namespace attnflow {

std::size_t FashionResults::count() const {
  std::size_t count = 0;
  for (std::size_t label = 0; label < confusion.size(); ++label) count += count_of(label);
  return count;
}

std::size_t FashionResults::right() const {
  std::size_t right = 0;
  for (std::size_t label = 0; label < confusion.size(); ++label) right += confusion[label][label];
  return right;
}

std::size_t FashionResults::count_of(std::size_t label) const {
  return std::accumulate(confusion[label].begin(), confusion[label].end(), std::size_t{0});
}

FashionResults summarize_fashion(const std::vector<std::size_t>& labels, const std::vector<std::size_t>& answers) {
  assert(labels.size() == answers.size());
  const std::size_t classes = fashion_labels().size();
  FashionResults results;
  results.confusion.assign(classes, std::vector<std::size_t>(classes, 0));
  for (std::size_t i = 0; i < labels.size(); ++i) ++results.confusion[labels[i]][answers[i]];
  return results;
}

FashionResults measure_fashion(const std::filesystem::path& folder, const LabelledPictures& pictures,
                               std::size_t threads, const std::stop_token& stop_token) {
  const std::unique_ptr<VisionModel> model = load_trained_vision(folder, threads);
  const std::filesystem::path settings = folder / "preprocessor_config.json";
  const ImageProcessor processor = read_image_processor(
      read_file(settings), settings.string(), {model->info().image.value().channels, model->info().architecture});
  std::vector<PixelInput> inputs(pictures.count());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].pixels = pixel_values(grey_picture(pictures.picture(i)), processor);
  }
  BatchOptions batches;
  batches.stop_token = stop_token;
  std::vector<std::size_t> answers;
  for (const Tensor<float>& logits : model->classify(inputs, batches)) {
    const auto row = logits.span();
    answers.push_back(static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  return summarize_fashion(pictures.labels, answers);
}

}  // namespace attnflow
