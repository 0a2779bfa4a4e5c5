#include "attnflow/model/gguf_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <variant>

#include "attnflow/base/error.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/decoder_architecture.h"
#include "attnflow/model/decoder_config.h"

namespace attnflow::internal {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxNumber = std::size_t{1} << 31;  // of any setting that counts something
constexpr std::size_t kMaxLayers = 10000;
constexpr std::uint32_t kFloat32 = 0;  // of ggml's types
constexpr double kUsualTheta = 10000.0;
constexpr double kPi = 3.14159265358979323846;

struct Convertible {
  std::string_view architecture;  // in GGUF, and model_type
  std::string_view model_class;   // of transformers
  bool paired_rotary;             // rotary pairs are neighbours
};
constexpr std::array kConvertible = {Convertible{"gpt2", "GPT2LMHeadModel", false},
                                     Convertible{"llama", "LlamaForCausalLM", true},
                                     Convertible{"qwen2", "Qwen2ForCausalLM", false}};

// Settings below the architecture's name that are read, or that say nothing that a computation depends on.
constexpr std::array<std::string_view, 18> kKnownSettings = {"attention.causal",
                                                             "attention.head_count",
                                                             "attention.head_count_kv",
                                                             "attention.key_length",
                                                             "attention.layer_norm_epsilon",
                                                             "attention.layer_norm_rms_epsilon",
                                                             "attention.value_length",
                                                             "block_count",
                                                             "context_length",
                                                             "embedding_length",
                                                             "feed_forward_length",
                                                             "rope.dimension_count",
                                                             "rope.freq_base",
                                                             "rope.scale_linear",
                                                             "rope.scaling.factor",
                                                             "rope.scaling.type",
                                                             "tensor_data_layout",
                                                             "vocab_size"};
// Those that mean "no such thing" when they are 0.
constexpr std::array<std::string_view, 3> kOffAtZero = {"attention.sliding_window", "expert_count",
                                                        "expert_used_count"};

template <typename Range>
bool contains(const Range& range, std::string_view name) {
  return std::find(range.begin(), range.end(), name) != range.end();
}

class Planner {
 public:
  Planner(const GgufHeader& header, std::span<const std::byte> file, const std::string& source)
      : header_(header), file_(file), source_(source) {
    for (const GgufTensor& tensor : header.tensors) tensors_.emplace(tensor.name, &tensor);
  }

  ConvertedModel plan() {
    find_architecture();
    check_settings();
    read_sizes();
    place_tensors();
    refuse_what_is_left();
    write_config();
    return std::move(model_);
  }

 private:
  [[noreturn]] void unsupported(const std::string& what) const {
    throw Error(ErrorKind::kUnsupportedModel, source_ + ": " + what);
  }
  [[noreturn]] void damaged(const std::string& what) const { throw Error(ErrorKind::kBadFile, source_ + ": " + what); }

  std::string key(std::string_view setting) const { return fmt::format("{}.{}", kind_->architecture, setting); }

  bool has(std::string_view setting) const { return header_.metadata.find(key(setting)) != header_.metadata.end(); }

  std::optional<std::size_t> find_size(std::string_view setting) const {
    if (!has(setting)) return std::nullopt;
    const std::optional<std::int64_t> value = header_.number(key(setting));
    if (!value && header_.array(key(setting)) != nullptr) {
      unsupported(
          fmt::format("expected one number as {} for all layers, found a list; a Hugging Face folder of this "
                      "architecture cannot say that",
                      key(setting)));
    }
    if (!value || *value < 1 || static_cast<std::uint64_t>(*value) > kMaxNumber) {
      damaged(fmt::format("{}: expected a whole number from 1 to {}, found {}", key(setting), kMaxNumber,
                          value ? fmt::format("{}", *value) : "something else"));
    }
    return static_cast<std::size_t>(*value);
  }

  std::size_t size(std::string_view setting) const {
    const std::optional<std::size_t> value = find_size(setting);
    if (!value)
      damaged(fmt::format("expected the setting {}, found none; convert the model to GGUF again", key(setting)));
    return *value;
  }

  std::optional<double> find_real(std::string_view setting) const {
    const auto found = header_.metadata.find(key(setting));
    if (found == header_.metadata.end()) return std::nullopt;
    double value = std::nan("");
    if (const auto* real = std::get_if<double>(&found->second)) value = *real;
    if (const auto* whole = std::get_if<std::int64_t>(&found->second)) value = static_cast<double>(*whole);
    if (!(value > 0.0) || !std::isfinite(value))
      damaged(fmt::format("{}: expected a positive number, found {}", key(setting), value));
    return shortest_decimal(value);
  }

  void find_architecture() {
    const std::int64_t files = header_.number("split.count").value_or(1);
    if (files > 1) {
      unsupported(fmt::format(
          "expected a model in one file, found the first of {}; join them (llama-gguf-split --merge)", files));
    }
    const std::string name = header_.text("general.architecture").value_or("");
    for (const Convertible& one : kConvertible) {
      if (one.architecture == name) kind_ = &one;
    }
    if (kind_ == nullptr) {
      std::string list;
      for (const Convertible& one : kConvertible)
        list += fmt::format("{}{}", list.empty() ? "" : ", ", one.architecture);
      unsupported(
          fmt::format("expected an architecture that can be converted ({}), found {}; attention of other GGUF "
                      "models is computed from the file itself",
                      list, name.empty() ? "none" : quote_name(name)));
    }
    row_ = find_decoder_architecture(kind_->architecture);
    model_.model_type = name;
  }

  void check_settings() const {
    const std::string prefix = key("");
    std::vector<std::string_view> unknown;
    for (const auto& [name, value] : header_.metadata) {
      if (!name.starts_with(prefix)) continue;
      const std::string_view setting = std::string_view(name).substr(prefix.size());
      const auto* number = std::get_if<std::int64_t>(&value);
      const bool off = contains(kOffAtZero, setting) && number != nullptr && *number == 0;
      if (!off && !contains(kKnownSettings, setting)) unknown.push_back(name);
    }
    if (!unknown.empty()) {
      unsupported(
          fmt::format("expected settings that are known here, found {}; what they change would be lost, so the "
                      "model is not converted",
                      quote_names(unknown)));
    }
    const auto causal = header_.metadata.find(key("attention.causal"));
    const bool* flag = causal == header_.metadata.end() ? nullptr : std::get_if<bool>(&causal->second);
    if (flag != nullptr && !*flag) unsupported("expected a decoder, found attention to later tokens too");
  }

  void read_sizes() {
    layers_ = size("block_count");
    if (layers_ > kMaxLayers) damaged(fmt::format("expected at most {} layers, found {}", kMaxLayers, layers_));
    hidden_ = size("embedding_length");
    intermediate_ = size("feed_forward_length");
    heads_ = size("attention.head_count");
    key_value_heads_ = find_size("attention.head_count_kv").value_or(heads_);
    if (heads_ % key_value_heads_ != 0 || (row_->keys.key_value_heads.empty() && key_value_heads_ != heads_)) {
      damaged(fmt::format("expected {} heads to share {} key-value heads evenly", heads_, key_value_heads_));
    }
    const std::optional<std::size_t> stated = find_size("attention.key_length");
    if (!stated && hidden_ % heads_ != 0)
      damaged(fmt::format("expected a hidden size that {} heads share evenly, found {}", heads_, hidden_));
    head_width_ = stated.value_or(hidden_ / heads_);
    if (find_size("attention.value_length").value_or(head_width_) != head_width_)
      unsupported("expected keys and values of the same length, found different ones");
    if (row_->keys.head_width.empty() && head_width_ * heads_ != hidden_)
      unsupported(fmt::format("expected heads of {} numbers, found {}", hidden_ / heads_, head_width_));
    if (row_->positions != PositionKind::kRotary) return;
    if (head_width_ % 2 != 0) damaged(fmt::format("expected heads of an even width, found {}", head_width_));
    const std::size_t turned = find_size("rope.dimension_count").value_or(head_width_);
    if (turned != head_width_) {
      unsupported(fmt::format("expected a rotary embedding over whole heads of {} numbers, found one over {}",
                              head_width_, turned));
    }
  }

  // The tensor of that name, which is then taken; null when there is none.
  const GgufTensor* take(const std::string& name) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return nullptr;
    const GgufTensor* const tensor = found->second;
    tensors_.erase(found);
    return tensor;
  }

  enum class Need { kRequired, kOptional };

  // `shape` is Hugging Face's before it is transposed. Returns whether it is there.
  bool place(const std::string& from, const std::string& to, const Shape& shape, TensorChange change, Need need) {
    const GgufTensor* const tensor = take(from);
    if (tensor == nullptr) {
      if (need == Need::kRequired) missing_.push_back(from);
      return false;
    }
    const Shape found(tensor->extents.rbegin(), tensor->extents.rend());
    if (found != shape) {
      damaged(fmt::format("tensor {}: expected the shape {}, which follows from the settings, found {}",
                          quote_name(from), shape_to_string(shape), shape_to_string(found)));
    }
    ConvertedTensor converted{to, shape, tensor, change, head_width_};
    if (change == TensorChange::kTransposed) std::reverse(converted.shape.begin(), converted.shape.end());
    model_.tensors.push_back(std::move(converted));
    return true;
  }

  void norm(const std::string& from, const std::string& to) {
    place(from + ".weight", to + ".weight", {hidden_}, TensorChange::kNone, Need::kRequired);
    if (row_->norm == NormKind::kLayer)
      place(from + ".bias", to + ".bias", {hidden_}, TensorChange::kNone, Need::kRequired);
  }

  // A matrix and its bias. Biases that depend on a setting are counted, since that is for all or for none.
  void linear(const std::string& from, const std::string& to, std::size_t out, std::size_t in, BiasRule rule,
              std::size_t& biases, TensorChange change = TensorChange::kNone) {
    const bool transposed = row_->layout == MatrixLayout::kInOut;
    place(from + ".weight", to + ".weight", {out, in}, transposed ? TensorChange::kTransposed : change,
          Need::kRequired);
    if (rule == BiasRule::kNever) return;
    const Need need = rule == BiasRule::kAlways ? Need::kRequired : Need::kOptional;
    if (place(from + ".bias", to + ".bias", {out}, change, need)) ++biases;
  }

  void place_layer(std::size_t layer) {
    const DecoderNames& names = row_->names;
    const std::string to = std::string(row_->prefix) + fmt::format(fmt::runtime(names.layer), layer);
    const auto from = [&](std::string_view part) { return fmt::format("blk.{}.{}", layer, part); };
    const auto name = [&](std::string_view part) { return to + std::string(part); };
    const std::size_t queries = heads_ * head_width_;
    const std::size_t keys = key_value_heads_ * head_width_;
    const TensorChange turned = kind_->paired_rotary ? TensorChange::kHalves : TensorChange::kNone;

    norm(from("attn_norm"), name(names.attention_norm));
    const BiasRule rule = row_->query_key_value_bias;
    if (!names.query_key_value.empty()) {
      linear(from("attn_qkv"), name(names.query_key_value), queries + 2 * keys, hidden_, rule, attention_biases_);
    } else {
      linear(from("attn_q"), name(names.query), queries, hidden_, rule, attention_biases_, turned);
      linear(from("attn_k"), name(names.key), keys, hidden_, rule, attention_biases_, turned);
      linear(from("attn_v"), name(names.value), keys, hidden_, rule, attention_biases_);
    }
    linear(from("attn_output"), name(names.attention_output), hidden_, queries, row_->attention_output_bias,
           attention_biases_);
    norm(from("ffn_norm"), name(names.feed_forward_norm));
    const BiasRule inner = row_->feed_forward_bias;
    if (!names.gate.empty())
      linear(from("ffn_gate"), name(names.gate), intermediate_, hidden_, inner, feed_forward_biases_);
    linear(from("ffn_up"), name(names.feed_forward_in), intermediate_, hidden_, inner, feed_forward_biases_);
    linear(from("ffn_down"), name(names.feed_forward_out), hidden_, intermediate_, inner, feed_forward_biases_);
  }

  void place_tensors() {
    const DecoderNames& names = row_->names;
    const std::string prefix(row_->prefix);
    // The vocabulary's size is what the embedding has: the setting is not always there.
    const auto embedding = tensors_.find("token_embd.weight");
    if (embedding != tensors_.end() && embedding->second->extents.size() == 2)
      model_.vocabulary = embedding->second->extents[1];
    if (has("vocab_size") && size("vocab_size") != model_.vocabulary) {
      damaged(fmt::format("expected an embedding of {} tokens ({}), found one of {}", size("vocab_size"),
                          key("vocab_size"), model_.vocabulary));
    }
    place("token_embd.weight", prefix + std::string(names.word) + ".weight", {model_.vocabulary, hidden_},
          TensorChange::kNone, Need::kRequired);
    if (row_->positions == PositionKind::kLearnt) {
      place("position_embd.weight", prefix + std::string(names.position) + ".weight", {size("context_length"), hidden_},
            TensorChange::kNone, Need::kRequired);
    }
    for (std::size_t layer = 0; layer < layers_; ++layer) place_layer(layer);
    norm("output_norm", prefix + std::string(names.final_norm));
    tied_ = !place("output.weight", std::string(names.output) + ".weight", {model_.vocabulary, hidden_},
                   TensorChange::kNone, Need::kOptional);
    if (!missing_.empty()) {
      damaged(
          fmt::format("expected the tensors of {} layers, found no {}; get the file again, or convert the model to "
                      "GGUF again",
                      layers_, quote_names({missing_.begin(), missing_.end()})));
    }
  }

  void refuse_what_is_left() {
    frequencies_ = row_->positions == PositionKind::kRotary ? take("rope_freqs.weight") : nullptr;
    std::vector<std::string_view> left;
    for (const auto& [name, tensor] : tensors_) left.push_back(name);
    if (!left.empty()) {
      unsupported(
          fmt::format("expected the tensors of a {} model, found {} besides; what they do would be lost, so the "
                      "model is not converted",
                      kind_->architecture, quote_names(left)));
    }
    all_or_none(row_->query_key_value_bias, attention_biases_, 4 * layers_, "queries, keys, values and outputs");
    all_or_none(row_->feed_forward_bias, feed_forward_biases_, 3 * layers_, "the feed-forward net");
  }

  void all_or_none(BiasRule rule, std::size_t found, std::size_t all, std::string_view where) const {
    if (rule != BiasRule::kSetting || found == 0 || found == all) return;
    unsupported(
        fmt::format("expected biases of {} in all layers or none, found {} of {}; a Hugging Face folder of this "
                    "architecture cannot say that",
                    where, found, all));
  }

  void write_rotary(Json& config) const {
    const double theta = find_real("rope.freq_base").value_or(kUsualTheta);
    config["rope_theta"] = theta;
    std::string type = "none";
    if (has("rope.scaling.type")) type = header_.text(key("rope.scaling.type")).value_or("");
    // The setting's old name is the factor's alone.
    const std::optional<double> old_factor = find_real("rope.scale_linear");
    if (type == "none" && old_factor && *old_factor != 1.0) type = "linear";
    if (type == "linear") {
      const std::optional<double> stated = find_real("rope.scaling.factor");
      config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", stated ? *stated : old_factor.value_or(1.0)}};
    } else if (type != "none") {
      unsupported(fmt::format("expected a rotary embedding that is not scaled, or linearly, found the type {}",
                              quote_name(type)));
    }
    if (frequencies_ == nullptr) return;
    const std::vector<float> factors = read_factors();
    if (std::all_of(factors.begin(), factors.end(), [](float factor) { return factor == 1.0F; })) return;
    const std::optional<Llama3Scaling> scaling = find_llama3_scaling(factors, theta);
    if (!scaling || type == "linear") {
      unsupported(
          "expected frequency factors (rope_freqs.weight) of Llama 3's kind, found others; a Hugging Face folder of "
          "this architecture cannot say that");
    }
    config["rope_scaling"] = {{"rope_type", "llama3"},
                              {"factor", scaling->factor},
                              {"low_freq_factor", RotaryConfig().low},
                              {"high_freq_factor", RotaryConfig().high},
                              {"original_max_position_embeddings", scaling->first_length}};
  }

  std::vector<float> read_factors() const {
    if (frequencies_->type != kFloat32 || frequencies_->extents != std::vector<std::size_t>{head_width_ / 2}) {
      damaged(fmt::format("rope_freqs.weight: expected {} numbers in float32, found something else", head_width_ / 2));
    }
    std::vector<float> factors(head_width_ / 2);
    std::memcpy(factors.data(), file_.data() + header_.data_begin + frequencies_->offset,
                factors.size() * sizeof(float));
    return factors;
  }

  void write_config() {
    const DecoderKeys& keys = row_->keys;
    Json& config = model_.config;
    const auto set = [&](std::string_view name, const Json& value) {
      if (!name.empty()) config[std::string(name)] = value;
    };
    config["architectures"] = {std::string(kind_->model_class)};
    config["model_type"] = model_.model_type;
    set(keys.hidden, hidden_);
    set(keys.layers, layers_);
    set(keys.heads, heads_);
    set(keys.key_value_heads, key_value_heads_);
    set(keys.head_width, head_width_);
    set(keys.intermediate, intermediate_);
    set(keys.positions, size("context_length"));
    const bool rms = row_->norm == NormKind::kRms;
    const std::string_view eps = rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
    const std::optional<double> norm_eps = find_real(eps);
    if (!norm_eps)
      damaged(fmt::format("expected the setting {}, found none; convert the model to GGUF again", key(eps)));
    set(keys.norm_eps, *norm_eps);
    set(keys.activation, std::string(row_->activation));
    if (row_->query_key_value_bias == BiasRule::kSetting) set(keys.attention_bias, attention_biases_ != 0);
    if (row_->feed_forward_bias == BiasRule::kSetting) set(keys.feed_forward_bias, feed_forward_biases_ != 0);
    if (row_->positions == PositionKind::kRotary) write_rotary(config);
    if (row_->window == WindowRule::kSwitched) config["use_sliding_window"] = false;
    config["vocab_size"] = model_.vocabulary;
    config["tie_word_embeddings"] = tied_;
  }

  const GgufHeader& header_;
  std::span<const std::byte> file_;
  const std::string& source_;
  const Convertible* kind_ = nullptr;
  const DecoderArchitecture* row_ = nullptr;
  std::map<std::string, const GgufTensor*, std::less<>> tensors_;  // those that have no place yet
  std::vector<std::string> missing_;
  const GgufTensor* frequencies_ = nullptr;

  std::size_t layers_ = 0;
  std::size_t hidden_ = 0;
  std::size_t intermediate_ = 0;
  std::size_t heads_ = 0;
  std::size_t key_value_heads_ = 0;
  std::size_t head_width_ = 0;
  std::size_t attention_biases_ = 0;
  std::size_t feed_forward_biases_ = 0;
  bool tied_ = false;
  ConvertedModel model_;
};

}  // namespace

ConvertedModel plan_conversion(const GgufHeader& header, std::span<const std::byte> file, const std::string& source) {
  return Planner(header, file, source).plan();
}

double shortest_decimal(double value) {
  const auto single = static_cast<float>(value);
  if (static_cast<double>(single) != value) return value;
  std::array<char, 64> text;
  const auto written = std::to_chars(text.data(), text.data() + text.size(), single);
  double result = value;
  std::from_chars(text.data(), written.ptr, result);
  return result;
}

std::optional<Llama3Scaling> find_llama3_scaling(std::span<const float> factors, double theta) {
  constexpr double kTolerance = 1e-5;  // some roundings to float32
  if (factors.empty()) return std::nullopt;
  RotaryConfig rotary;
  rotary.theta = theta;
  const std::vector<float> plain = rotary.frequencies(2 * factors.size());
  Llama3Scaling found;
  // The slowest rotations are divided by the factor itself.
  found.factor = static_cast<double>(*std::max_element(factors.begin(), factors.end()));
  if (!(found.factor > 1.0) || !std::isfinite(found.factor)) return std::nullopt;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double one = static_cast<double>(factors[i]);
    if (!(one > 1.0 + kTolerance && one < found.factor * (1.0 - kTolerance))) continue;
    const double share = (1.0 / one - 1.0 / found.factor) / (1.0 - 1.0 / found.factor);
    const double length = (rotary.low + share * (rotary.high - rotary.low)) * 2.0 * kPi / static_cast<double>(plain[i]);
    if (!(length >= 1.0 && length < static_cast<double>(kMaxNumber))) return std::nullopt;
    found.first_length = static_cast<std::size_t>(std::lround(length));
    break;
  }
  rotary.scaling = RotaryConfig::Scaling::kLlama3;
  rotary.factor = found.factor;
  rotary.first_length = static_cast<double>(found.first_length);
  const std::vector<float> expected = rotary.frequencies(2 * factors.size());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double made = static_cast<double>(plain[i]) / static_cast<double>(factors[i]);
    if (!(std::abs(made - static_cast<double>(expected[i])) <= kTolerance * static_cast<double>(expected[i])))
      return std::nullopt;
  }
  found.factor = shortest_decimal(found.factor);
  return found;
}

}  // namespace attnflow::internal
