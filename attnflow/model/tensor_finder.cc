#include "attnflow/model/tensor_finder.h"

#include <fmt/format.h>

#include <algorithm>

#include "attnflow/files/messages.h"
#include "attnflow/model/fail.h"

namespace attnflow::internal {

namespace {

void check(const StoredTensor& stored, const Shape& shape, std::string_view shape_source) {
  if (!is_floating_point(stored.dtype)) {
    fail(ErrorKind::kBadFile,
         "{}: tensor \"{}\" has type {}; expected f32, f16, bf16 or f64. Quantized weights are not "
         "supported: use the model's unquantized files",
         stored.file, stored.name, dtype_name(stored.dtype));
  }
  if (stored.shape != shape) {
    fail(ErrorKind::kBadFile,
         "{}: tensor \"{}\" has shape {}; expected {}, which follows from {} in config.json. Use the "
         "weights and the config.json that were saved together",
         stored.file, stored.name, shape_to_string(stored.shape), shape_to_string(shape), shape_source);
  }
}

// Whether it holds numbers that follow from the config (sinusoidal positions, indices), the token for hidden patches in
// training, or unused tensors in files from fairseq and Mesh TensorFlow.
bool is_buffer(std::string_view name) {
  const auto is = [&](std::string_view buffer) {
    return name == buffer || (name.ends_with(buffer) && name[name.size() - buffer.size() - 1] == '.');
  };
  const auto is_any = [&](auto... buffers) { return (is(buffers) || ...); };
  return is_any("position_ids", "token_type_ids", "rotary_emb.inv_freq", "attn.bias", "attn.masked_bias",
                "attention.bias", "attention.masked_bias", "mask_token", "relative_position_index",
                "embed_positions.weight", "embed_positions.weights", "version",
                "EncDecAttention.relative_attention_bias.weight");
}

std::string_view first_part(std::string_view name) { return name.substr(0, name.find('.')); }

}  // namespace

std::vector<std::string> class_names(const std::optional<std::vector<std::string>>& labels, std::size_t classes) {
  if (labels) return *labels;
  std::vector<std::string> names;
  for (std::size_t c = 0; c < classes; ++c) names.push_back(fmt::format("LABEL_{}", c));
  return names;
}

bool TensorFinder::has_prefix(std::string_view prefix) const {
  if (checkpoint_ == nullptr) return false;
  const auto& tensors = checkpoint_->tensors();
  const auto first = tensors.lower_bound(prefix);
  return first != tensors.end() && first->first.starts_with(prefix);
}

const StoredTensor* TensorFinder::tensor(std::initializer_list<std::string> names, const Shape& shape,
                                         std::string_view shape_source, PlannedTensor::Kind kind) {
  if (checkpoint_ == nullptr) {
    plan_.push_back({*(names.end() - 1), shape, kind});
    return nullptr;
  }
  for (const std::string& name : names) {
    const StoredTensor* found = checkpoint_->find(name);
    if (found == nullptr) continue;
    check(*found, shape, shape_source);
    used_.insert(found);
    return found;
  }
  missing_.push_back(*(names.end() - 1));
  return nullptr;
}

LinearWeights TensorFinder::linear(const std::string& name, std::size_t out, std::size_t in,
                                   std::string_view shape_source, bool bias, MatrixLayout layout) {
  LinearWeights found;
  found.layout = layout;
  found.out = out;
  const Shape shape = layout == MatrixLayout::kOutIn ? Shape{out, in} : Shape{in, out};
  found.weight = tensor({name + ".weight"}, shape, shape_source);
  if (bias) found.bias = tensor({name + ".bias"}, {out}, shape_source, PlannedTensor::Kind::kBias);
  return found;
}

LinearWeights TensorFinder::classes(const std::string& name, const std::optional<std::vector<std::string>>& labels,
                                    std::size_t in, std::string_view shape_source, bool bias) {
  constexpr std::size_t kUsual = 2;
  const StoredTensor* const stored = checkpoint_ == nullptr ? nullptr : checkpoint_->find(name + ".weight");
  const bool matrix = stored != nullptr && stored->shape.size() == 2 && stored->shape[0] > 0;
  return linear(name, labels ? labels->size() : matrix ? stored->shape[0] : kUsual, in, shape_source, bias);
}

NormWeights TensorFinder::norm(const std::string& name, std::size_t width, std::string_view shape_source,
                               NormKind kind) {
  using Kind = PlannedTensor::Kind;
  NormWeights found;
  found.scale = tensor({name + ".gamma", name + ".weight"}, {width}, shape_source, Kind::kNormScale);
  if (kind == NormKind::kLayer) {
    found.shift = tensor({name + ".beta", name + ".bias"}, {width}, shape_source, Kind::kNormShift);
  }
  found.kind = kind;
  return found;
}

std::vector<const StoredTensor*> TensorFinder::unused() const {
  std::vector<const StoredTensor*> unused;
  for (const auto& [name, stored] : checkpoint_->tensors()) {
    if (used_.find(&stored) == used_.end()) unused.push_back(&stored);
  }
  return unused;
}

void TensorFinder::pass_over(std::string_view name) {
  if (checkpoint_ == nullptr) return;
  if (const StoredTensor* const stored = checkpoint_->find(name)) used_.insert(stored);
}

void TensorFinder::throw_if_unused(std::string_view prefix, const std::vector<std::string_view>& base_parts,
                                   std::size_t layers) const {
  if (checkpoint_ == nullptr) return;
  std::vector<std::string_view> left;
  for (const StoredTensor* const stored : unused()) {
    std::string_view name = stored->name;
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    const bool in_base = std::any_of(base_parts.begin(), base_parts.end(), [&](std::string_view part) {
      return !part.empty() && first_part(part) == first_part(name);
    });
    if (in_base && !is_buffer(name)) left.push_back(stored->name);
  }
  if (left.empty()) return;
  fail(ErrorKind::kBadFile,
       "{}: expected the tensors of a {} model of {} layers, as config.json says, found {} more "
       "that config.json has no place for: "
       "{}. Use the weights and the config.json that were saved together, "
       "or ignore these with --allow-unused-weights",
       checkpoint_->source(), model_type_, layers, left.size(), quote_names(left));
}

void TensorFinder::throw_if_missing() const {
  if (missing_.empty()) return;
  // These names come from our own tables, so they are shown whole.
  constexpr std::size_t kShown = 8;
  std::string missing;
  for (std::size_t i = 0; i < std::min(kShown, missing_.size()); ++i) {
    missing += (i == 0 ? "\"" : ", \"") + missing_[i] + "\"";
  }
  if (missing_.size() > kShown) missing += fmt::format(" and {} more", missing_.size() - kShown);
  std::vector<std::string_view> there;
  for (const auto& [name, stored] : checkpoint_->tensors()) there.push_back(name);
  fail(ErrorKind::kBadFile,
       "{}: expected the tensors of model type {}, {} of them missing: {}; found {}. Use the "
       "weights and the config.json that were saved together",
       checkpoint_->source(), model_type_, missing_.size(), missing, quote_names(there));
}

}  // namespace attnflow::internal
