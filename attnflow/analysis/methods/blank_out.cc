#include "attnflow/analysis/methods/blank_out.h"

#include <algorithm>
#include <cstddef>

#include "attnflow/analysis/methods/target_values.h"

namespace attnflow {
namespace {

bool same_input(const TextInput& a, const TextInput& b) { return a.ids == b.ids && a.type_ids == b.type_ids; }
bool same_input(const PixelInput& a, const PixelInput& b) { return a.pixels == b.pixels; }

// Inputs held at once; pictures are large.
constexpr std::size_t kChunk = 64;

template <typename Question, typename Input>
BlankOut blank_each(const Question& question, const Input& whole) {
  const std::size_t count = question.groups.size();
  BlankOut result;
  result.blanked.resize(count);
  const ProgressFunction progress = question.phases ? question.phases("inputs with a blank run") : ProgressFunction{};
  if (progress) progress(0, count + 1);
  for (std::size_t begin = 0; begin <= count; begin += kChunk) {
    std::vector<Input> inputs;
    const std::size_t end = std::min(begin + kChunk, count + 1);
    for (std::size_t i = begin; i < end; ++i) {
      inputs.push_back(i == 0 ? whole : question.blanked(question.groups[i - 1]));
    }
    BatchOptions options{.stop_token = question.stop_token};
    if (progress) options.progress = [&](std::size_t done, std::size_t) { progress(begin + done, count + 1); };
    const std::vector<double> values = target_values(question.model, inputs, question.target, options);
    for (std::size_t i = begin; i < end; ++i) {
      if (i == 0) {
        result.value = values[0];
      } else {
        // Nothing was replaced there: exactly 0, not the rounding of another batch.
        const bool same = same_input(inputs[i - begin], whole);
        result.blanked[i - 1] = same ? result.value : values[i - begin];
      }
    }
  }
  return result;
}

}  // namespace

BlankOut blank_out(const TextQuestion& question) { return blank_each(question, question.input); }
BlankOut blank_out(const ImageQuestion& question) { return blank_each(question, question.input); }

}  // namespace attnflow
