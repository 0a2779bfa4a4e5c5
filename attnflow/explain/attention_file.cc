#include "attnflow/explain/attention_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attnflow/attribution/mixings.h"
#include "attnflow/base/format_error.h"
#include "attnflow/explain/contribution_arrays.h"
#include "attnflow/files/array_file.h"
#include "attnflow/files/extension.h"
#include "attnflow/files/safetensors.h"

namespace attnflow {
namespace {

template <typename Has>
bool is_result(const Has& has) {
  return (has("output_tokens") || has("generated_tokens")) && (has("raw") || has("rollout") || has("flow"));
}

}  // namespace

AttentionInput read_attention(const std::filesystem::path& path, const ExplainOptions& options) {
  const std::string extension = internal::lower_extension(path);
  AttentionInput input;
  input.name = path.filename().string();
  std::optional<Array> array;
  std::vector<std::string> texts;
  std::vector<bool> special;
  const bool of_terms = mixing_info(options.settings.mixing).needs == MixingNeeds::kTerms;
  const auto read_arrays = [&](const auto& has, const auto& read) {
    if (!has("attention") && is_result(has)) {
      throw internal::file_error(
          "{}: expected an array named \"attention\", found the results of an analysis; attnflow explain "
          "--keep-attention includes it",
          path.string());
    }
    if (of_terms) input.contributions = read_contribution_arrays(path.string(), has, read);
    if (!of_terms && has("contributions") && !has("attention")) throw unnamed_contributions(path.string());
    if (input.contributions.contributions.empty() || has("attention")) array = read("attention");
    if (!has("special")) return;
    const Tensor<std::int64_t> flags = read("special").to_int64("special");
    for (const std::int64_t value : flags.span()) special.push_back(value != 0);
  };
  if (extension == ".npz") {
    const std::vector<std::string> keys = list_npz(path);
    const auto has = [&](const char* key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); };
    read_arrays(has, [&](const char* key) { return read_npz(path, key); });
    if (has("tokens")) {
      const Array tokens = read_npz(path, "tokens");
      if (tokens.dtype != DType::kUnicode) {
        throw internal::file_error(
            "{}: expected tokens as a NumPy unicode array (dtype <U), found {}; save numpy.array(tokens, dtype=str)",
            path.string(), dtype_name(tokens.dtype));
      }
      texts = tokens.strings;
    }
  } else if (extension == ".npy") {
    array = read_npy(path);
  } else if (extension == ".safetensors") {
    const SafetensorsFile file(path);
    read_arrays([&](const char* key) { return file.holds(key); }, [&](const char* key) { return file.read(key); });
    if (const auto found = file.metadata().find("tokens"); found != file.metadata().end()) {
      const auto json = nlohmann::json::parse(found->second, nullptr, false);
      const bool is_text_list =
          json.is_array() && std::all_of(json.begin(), json.end(), [](const auto& item) { return item.is_string(); });
      if (!is_text_list) {
        throw internal::file_error(
            "{}: expected the metadata 'tokens' to be a JSON list of strings, found something else", path.string());
      }
      texts = json.get<std::vector<std::string>>();
    }
  } else {
    throw internal::usage_error("--attention: expected a file ending in .npz, .npy or .safetensors, found '{}'",
                                path.string());
  }

  const std::string source = fmt::format("{}: attention", path.string());
  if (array) {
    Shape& shape = array->shape;
    // In torch.stack(output.attentions) the batch is the second dimension, in a batch of such stacks the first.
    if (shape.size() == 5 && (shape[1] == 1 || shape[0] == 1)) shape.erase(shape.begin() + (shape[1] == 1 ? 1 : 0));
    using Weights = std::variant<Tensor<float>, Tensor<double>>;
    const bool wide = options.renormalize || array->dtype == DType::kF64;
    Weights weights = wide ? Weights(array->to_double(source)) : Weights(array->to_float(source));
    array.reset();
    input.stack = attention_stack(std::move(weights), path.string(), options, input.zero_rows);
  }
  set_tokens(input, texts, special, path.string());
  return input;
}

}  // namespace attnflow
