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

constexpr double kMaxLength = 0x1p31;  // of any text
constexpr std::uint32_t kFloat32 = 0;  // of ggml's types
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
    write_config();
    model_.settings = parse_decoder_config(model_.config.dump(), source_ + " (as config.json)");
    check_widths();
    place_tensors();
    refuse_what_is_left();
    return std::move(model_);
  }

 private:
  [[noreturn]] void unsupported(const std::string& what) const {
    throw Error(ErrorKind::kUnsupportedModel, source_ + ": " + what);
  }
  [[noreturn]] void damaged(const std::string& what) const { throw Error(ErrorKind::kBadFile, source_ + ": " + what); }

  std::string key(std::string_view setting) const { return fmt::format("{}.{}", kind_->architecture, setting); }

  const GgufValue* find(std::string_view setting) const {
    const auto found = header_.metadata.find(key(setting));
    return found == header_.metadata.end() ? nullptr : &found->second;
  }

  // A setting as config.json takes it, null where there is none. Its range is checked when config.json is read.
  Json number(std::string_view setting) const {
    const GgufValue* const value = find(setting);
    if (value == nullptr) return nullptr;
    if (const auto* whole = std::get_if<std::int64_t>(value)) return *whole;
    const auto* real = std::get_if<double>(value);
    if (real != nullptr && std::isfinite(*real)) return shortest_decimal(*real);
    if (std::get_if<GgufArray>(value) != nullptr) {
      unsupported(
          fmt::format("expected one number as {} for all layers, found a list; a Hugging Face folder of this "
                      "architecture cannot say that",
                      key(setting)));
    }
    damaged(fmt::format("{}: expected a finite number, found something else", key(setting)));
  }

  Json required_number(std::string_view setting) const {
    Json value = number(setting);
    if (value.is_null())
      damaged(fmt::format("expected the setting {}, found none; convert the model to GGUF again", key(setting)));
    return value;
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
    const GgufValue* const causal = find("attention.causal");
    const bool* flag = causal == nullptr ? nullptr : std::get_if<bool>(causal);
    if (flag != nullptr && !*flag) unsupported("expected a decoder, found attention to later tokens too");
  }

  void write_config() {
    const DecoderKeys& keys = row_->keys;
    Json& config = model_.config;
    const auto set = [&](std::string_view name, const Json& value) {
      if (!name.empty() && !value.is_null()) config[std::string(name)] = value;
    };
    const auto has_tensor = [&](const char* name) { return tensors_.find(name) != tensors_.end(); };
    set("architectures", Json::array({std::string(kind_->model_class)}));
    set("model_type", std::string(kind_->architecture));
    set(keys.hidden, required_number("embedding_length"));
    set(keys.layers, required_number("block_count"));
    const Json heads = required_number("attention.head_count");
    set(keys.heads, heads);
    const Json key_value_heads = number("attention.head_count_kv");
    set(keys.key_value_heads, key_value_heads.is_null() ? heads : key_value_heads);
    set(keys.head_width, number("attention.key_length"));
    set(keys.intermediate, required_number("feed_forward_length"));
    set(keys.positions, required_number("context_length"));
    const bool rms = row_->norm == NormKind::kRms;
    set(keys.norm_eps, required_number(rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon"));
    set(keys.activation, std::string(row_->activation));
    // Where a setting of config.json says so, it is for all layers: place_tensors() asks all of them for it.
    if (row_->query_key_value_bias == BiasRule::kSetting) set(keys.attention_bias, has_tensor("blk.0.attn_q.bias"));
    if (row_->feed_forward_bias == BiasRule::kSetting) set(keys.feed_forward_bias, has_tensor("blk.0.ffn_up.bias"));
    if (row_->positions == PositionKind::kRotary) write_rotary();
    if (row_->window == WindowRule::kSwitched) set("use_sliding_window", false);
    // The vocabulary's size is what the embedding has: the setting is not always there.
    const auto embedding = tensors_.find("token_embd.weight");
    const bool is_matrix = embedding != tensors_.end() && embedding->second->extents.size() == 2;
    if (!is_matrix) damaged("expected a matrix token_embd.weight, found none; get the file again");
    set("vocab_size", embedding->second->extents[1]);
    set("tie_word_embeddings", !has_tensor("output.weight"));
  }

  void write_rotary() {
    Json theta = number("rope.freq_base");
    if (theta.is_null()) theta = RotaryConfig().theta;
    model_.config["rope_theta"] = theta;
    std::string type = "none";
    if (find("rope.scaling.type") != nullptr) type = header_.text(key("rope.scaling.type")).value_or("");
    // The setting's old name is the factor's alone.
    const Json old_factor = number("rope.scale_linear");
    if (type == "none" && !old_factor.is_null() && old_factor != 1.0) type = "linear";
    if (type == "linear") {
      const Json factor = number("rope.scaling.factor");
      model_.config["rope_scaling"] = {{"rope_type", type}, {"factor", factor.is_null() ? old_factor : factor}};
    } else if (type != "none") {
      unsupported(fmt::format("expected a rotary embedding that is not scaled, or linearly, found the type {}",
                              quote_name(type)));
    }
    frequencies_ = take("rope_freqs.weight");
    if (frequencies_ == nullptr) return;
    const std::vector<float> factors = read_factors();
    if (std::all_of(factors.begin(), factors.end(), [](float factor) { return factor == 1.0F; })) return;
    const std::optional<Llama3Scaling> scaling = find_llama3_scaling(factors, theta.get<double>());
    if (!scaling || type == "linear") {
      unsupported(
          "expected frequency factors (rope_freqs.weight) of Llama 3's kind, found others; a Hugging Face folder of "
          "this architecture cannot say that");
    }
    model_.config["rope_scaling"] = {{"rope_type", "llama3"},
                                     {"factor", scaling->factor},
                                     {"low_freq_factor", RotaryConfig().low},
                                     {"high_freq_factor", RotaryConfig().high},
                                     {"original_max_position_embeddings", scaling->first_length}};
  }

  std::vector<float> read_factors() const {
    if (frequencies_->type != kFloat32 || frequencies_->extents.size() != 1)
      damaged("rope_freqs.weight: expected a row of float32 numbers, found something else");
    std::vector<float> factors(frequencies_->extents[0]);
    std::memcpy(factors.data(), file_.data() + header_.data_begin + frequencies_->offset,
                factors.size() * sizeof(float));
    return factors;
  }

  // What a GGUF file can say and config.json cannot, or says once where the file says it twice.
  void check_widths() const {
    const DecoderConfig& config = model_.settings;
    const auto check = [&](std::string_view setting, std::size_t expected, std::string_view what) {
      const Json found = number(setting);
      if (found.is_null() || found == expected) return;
      unsupported(fmt::format("{}: expected {}, {}, found {}", key(setting), expected, what, found.dump()));
    };
    check("attention.key_length", config.head_width, "the width of a head");
    check("attention.value_length", config.head_width, "the width of a head");
    check("attention.head_count_kv", config.key_value_heads, "as many as there are heads");
    check("vocab_size", config.vocabulary, "as many as the embedding has rows");
    if (row_->positions == PositionKind::kRotary)
      check("rope.dimension_count", config.head_width, "since whole heads are rotated");
    if (frequencies_ != nullptr && frequencies_->extents[0] != config.head_width / 2) {
      damaged(fmt::format("rope_freqs.weight: expected {} numbers, found {}", config.head_width / 2,
                          frequencies_->extents[0]));
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

  // `shape` is Hugging Face's before it is transposed.
  void place(const std::string& from, const std::string& to, const Shape& shape,
             TensorChange change = TensorChange::kNone) {
    const GgufTensor* const tensor = take(from);
    if (tensor == nullptr) {
      missing_.push_back(from);
      return;
    }
    const Shape found(tensor->extents.rbegin(), tensor->extents.rend());
    if (found != shape) {
      damaged(fmt::format("tensor {}: expected the shape {}, which follows from the settings, found {}",
                          quote_name(from), shape_to_string(shape), shape_to_string(found)));
    }
    ConvertedTensor converted{to, shape, tensor, change, model_.settings.head_width};
    if (change == TensorChange::kTransposed) std::reverse(converted.shape.begin(), converted.shape.end());
    model_.tensors.push_back(std::move(converted));
  }

  void norm(const std::string& from, const std::string& to) {
    place(from + ".weight", to + ".weight", {model_.settings.hidden});
    if (row_->norm == NormKind::kLayer) place(from + ".bias", to + ".bias", {model_.settings.hidden});
  }

  void linear(const std::string& from, const std::string& to, std::size_t out, std::size_t in, bool bias,
              TensorChange change = TensorChange::kNone) {
    const bool transposed = row_->layout == MatrixLayout::kInOut;
    place(from + ".weight", to + ".weight", {out, in}, transposed ? TensorChange::kTransposed : change);
    if (bias) place(from + ".bias", to + ".bias", {out}, change);
  }

  void place_layer(std::size_t layer) {
    const DecoderConfig& config = model_.settings;
    const DecoderNames& names = row_->names;
    const std::string to = std::string(row_->prefix) + fmt::format(fmt::runtime(names.layer), layer);
    const auto from = [&](std::string_view part) { return fmt::format("blk.{}.{}", layer, part); };
    const auto name = [&](std::string_view part) { return to + std::string(part); };
    const std::size_t hidden = config.hidden;
    const std::size_t queries = config.heads * config.head_width;
    const std::size_t keys = config.key_value_heads * config.head_width;
    const TensorChange turned = kind_->paired_rotary ? TensorChange::kHalves : TensorChange::kNone;

    norm(from("attn_norm"), name(names.attention_norm));
    bool bias = config.query_key_value_bias;
    if (!names.query_key_value.empty()) {
      linear(from("attn_qkv"), name(names.query_key_value), queries + 2 * keys, hidden, bias);
    } else {
      linear(from("attn_q"), name(names.query), queries, hidden, bias, turned);
      linear(from("attn_k"), name(names.key), keys, hidden, bias, turned);
      linear(from("attn_v"), name(names.value), keys, hidden, bias);
    }
    linear(from("attn_output"), name(names.attention_output), hidden, queries, config.attention_output_bias);
    norm(from("ffn_norm"), name(names.feed_forward_norm));
    bias = config.feed_forward_bias;
    if (!names.gate.empty()) linear(from("ffn_gate"), name(names.gate), config.intermediate, hidden, bias);
    linear(from("ffn_up"), name(names.feed_forward_in), config.intermediate, hidden, bias);
    linear(from("ffn_down"), name(names.feed_forward_out), hidden, config.intermediate, bias);
  }

  void place_tensors() {
    const DecoderConfig& config = model_.settings;
    const DecoderNames& names = row_->names;
    const std::string prefix(row_->prefix);
    const Shape table = {config.vocabulary, config.hidden};
    place("token_embd.weight", prefix + std::string(names.word) + ".weight", table);
    if (row_->positions == PositionKind::kLearnt) {
      place("position_embd.weight", prefix + std::string(names.position) + ".weight",
            {config.positions, config.hidden});
    }
    for (std::size_t layer = 0; layer < config.layers; ++layer) place_layer(layer);
    norm("output_norm", prefix + std::string(names.final_norm));
    if (!config.tied) place("output.weight", std::string(names.output) + ".weight", table);
    if (missing_.empty()) return;
    const std::string what = fmt::format("expected the tensors of {} layers, found no {}", config.layers,
                                         quote_names({missing_.begin(), missing_.end()}));
    // The first layer's queries have a bias, and others have none.
    if (std::all_of(missing_.begin(), missing_.end(), [](const std::string& name) { return name.ends_with(".bias"); }))
      unsupported(what + "; a Hugging Face folder of this architecture has biases everywhere or nowhere");
    damaged(what + "; get the file again, or convert the model to GGUF again");
  }

  void refuse_what_is_left() const {
    if (tensors_.empty()) return;
    std::vector<std::string_view> left;
    for (const auto& [name, tensor] : tensors_) left.push_back(name);
    unsupported(
        fmt::format("expected the tensors of a {} model, found {} besides; what they do would be lost, so the "
                    "model is not converted",
                    kind_->architecture, quote_names(left)));
  }

  const GgufHeader& header_;
  std::span<const std::byte> file_;
  const std::string& source_;
  const Convertible* kind_ = nullptr;
  const DecoderArchitecture* row_ = nullptr;
  std::map<std::string, const GgufTensor*, std::less<>> tensors_;  // those that have no place yet
  std::vector<std::string> missing_;
  const GgufTensor* frequencies_ = nullptr;
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
    if (!(length >= 1.0 && length < kMaxLength)) return std::nullopt;
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
