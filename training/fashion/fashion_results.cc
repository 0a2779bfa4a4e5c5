#include "training/fashion/fashion_results.h"

#include <cassert>
#include <memory>
#include <numeric>

#include "attnflow/files/atomic_file.h"
#include "attnflow/image/image_processor.h"
#include "training/trainer/new_model.h"

namespace attnflow {

Score FashionResults::all() const {
  Score all;
  for (std::size_t label = 0; label < confusion.size(); ++label) {
    all.right += of(label).right;
    all.count += of(label).count;
  }
  return all;
}

Score FashionResults::of(std::size_t label) const {
  const std::vector<std::size_t>& answers = confusion[label];
  return {.right = answers[label], .count = std::accumulate(answers.begin(), answers.end(), std::size_t{0})};
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
    answers.push_back(best_class(logits.span()));
  }
  return summarize_fashion(pictures.labels, answers);
}

}  // namespace attnflow
