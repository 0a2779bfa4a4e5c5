// Many inputs, for models that do not share more between them.
#include <algorithm>
#include <vector>

#include "attnflow/base/progress.h"
#include "attnflow/model/decoder.h"
#include "attnflow/model/model.h"

namespace attnflow {

void TextModel::logits_of_each(std::span<const TextInput> inputs, std::optional<std::size_t> position,
                               const BatchOptions& options, const TakeLogits& take) {
  const bool of_whole = predicts_whole(info().head);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (options.stop_token.stop_requested()) throw Cancelled();
    RunOptions run;
    if (!of_whole || position) run.logit_positions = {position.value_or(inputs[i].ids.size() - 1)};
    const ModelOutput output = this->run(inputs[i], nullptr, run);
    take(i, of_whole ? output.logits.span() : output.logits[0].span());
    if (options.progress) options.progress(i + 1, inputs.size());
  }
}

void Encoder::logits_of_each(std::span<const TextInput> inputs, std::optional<std::size_t> position,
                             const BatchOptions& options, const TakeLogits& take) {
  if (!predicts_whole(info().head)) return TextModel::logits_of_each(inputs, position, options, take);
  const std::vector<Tensor<float>> logits = classify(inputs, options);
  for (std::size_t i = 0; i < logits.size(); ++i) take(i, logits[i].span());
}

void Decoder::logits_of_each(std::span<const TextInput> inputs, std::optional<std::size_t> position,
                             const BatchOptions& options, const TakeLogits& take) {
  if (info().head != ModelHead::kCausalLm) return TextModel::logits_of_each(inputs, position, options, take);
  clear();
  std::vector<std::int64_t> before;
  // From the last on: where later tokens are replaced, more of the beginning stays.
  for (std::size_t i = inputs.size(); i-- > 0;) {
    const std::vector<std::int64_t> ids = position ? inputs[i].up_to(*position).ids : inputs[i].ids;
    std::size_t shared = 0;
    if (!info().target) {
      const auto differ = std::mismatch(ids.begin(), ids.end(), before.begin(), before.end());
      shared = std::min(static_cast<std::size_t>(differ.first - ids.begin()), ids.size() - 1);
    }
    if (shared == 0) {
      clear();
    } else {
      rewind(shared);
    }
    take(i, append(std::span(ids).subspan(shared), nullptr, options.stop_token).span());
    before = ids;
    if (options.progress) options.progress(inputs.size() - i, inputs.size());
  }
}

}  // namespace attnflow
