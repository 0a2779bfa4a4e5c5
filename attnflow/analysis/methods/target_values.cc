#include "attnflow/analysis/methods/target_values.h"

#include "attnflow/model/prediction.h"

namespace attnflow {
namespace {

template <typename Input>
std::vector<double> values_of_classes(Classifier<Input>& model, std::span<const Input> inputs,
                                      const ScoreTarget& target, const BatchOptions& options) {
  std::vector<double> values;
  for (const Tensor<float>& logits : model.classify(inputs, options)) {
    values.push_back(target_value(target, logits.span()));
  }
  return values;
}

}  // namespace

std::vector<double> target_values(TextModel& model, std::span<const TextInput> inputs, const ScoreTarget& target,
                                  const BatchOptions& options) {
  const bool of_class = model.info().head == ModelHead::kClassification;
  if (of_class && model.encoder() != nullptr) return values_of_classes(*model.encoder(), inputs, target, options);
  std::vector<double> values;
  for (const TextInput& input : inputs) {
    if (options.stop_token.stop_requested()) throw Cancelled();
    RunOptions run;
    if (!of_class || target.position) run.logit_positions = {target.position.value_or(input.ids.size() - 1)};
    const ModelOutput output = model.run(input, nullptr, run);
    values.push_back(target_value(target, of_class ? output.logits.span() : output.logits[0].span()));
    if (options.progress) options.progress(values.size(), inputs.size());
  }
  return values;
}

std::vector<double> target_values(VisionModel& model, std::span<const PixelInput> inputs, const ScoreTarget& target,
                                  const BatchOptions& options) {
  return values_of_classes(model, inputs, target, options);
}

}  // namespace attnflow
