#include "attnflow/model/gguf_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numbers>
#include <variant>

#include "attnflow/files/messages.h"
#include "attnflow/model/decoder_architecture.h"
#include "attnflow/model/decoder_config.h"
#include "attnflow/model/decoder_weights.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/family_rows.h"

namespace attnflow::internal {
namespace {

using Json = nlohmann::json;

constexpr double kMaxLength = 0x1p31;  // of any text, in tokens
constexpr std::uint32_t kFloat32 = 0;  // in ggml's types

struct Convertible {
  std::string_view architecture;  // in GGUF, and model_type
  std::string_view model_class;   // of transformers
  bool paired_rotary;             // rotary pairs are adjacent
};
constexpr std::array kConvertible = {Convertible{"gpt2", "GPT2LMHeadModel", false},
                                     Convertible{"llama", "LlamaForCausalLM", true},
                                     Convertible{"qwen2", "Qwen2ForCausalLM", false}};

// Whether a setting is read or does not affect the computation.
constexpr bool is_known(std::string_view setting) {
  return is_one_of(setting, "attention.causal", "attention.head_count", "attention.head_count_kv",
                   "attention.key_length", "attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon",
                   "attention.value_length", "block_count", "context_length", "embedding_length", "feed_forward_length",
                   "rope.dimension_count", "rope.freq_base", "rope.scale_linear", "rope.scaling.factor",
                   "rope.scaling.type", "tensor_data_layout", "vocab_size");
}
constexpr bool is_off_at_zero(std::string_view setting) {
  return is_one_of(setting, "attention.sliding_window", "expert_count", "expert_used_count");
}

struct Part {
  std::string_view name;  // GGUF's name; for a layer, between "blk.3." and ".weight" or ".bias"
  std::string_view DecoderNames::*theirs;
  std::string_view letter = {};  // its placeholder letter
};
constexpr std::string_view kLayer = "blk.";
constexpr std::array kOutside = {Part{"token_embd", &DecoderNames::word},
                                 Part{"position_embd", &DecoderNames::position},
                                 Part{"output_norm", &DecoderNames::final_norm}, Part{"output", &DecoderNames::output}};
constexpr std::array kInside = {
    Part{"attn_norm", &DecoderNames::attention_norm},    Part{"attn_qkv", &DecoderNames::query_key_value},
    Part{"attn_q", &DecoderNames::query_key_value, "q"}, Part{"attn_k", &DecoderNames::query_key_value, "k"},
    Part{"attn_v", &DecoderNames::query_key_value, "v"}, Part{"attn_output", &DecoderNames::attention_output},
    Part{"ffn_norm", &DecoderNames::feed_forward_norm},  Part{"ffn_gate", &DecoderNames::gate},
    Part{"ffn_up", &DecoderNames::feed_forward_in},      Part{"ffn_down", &DecoderNames::feed_forward_out}};

class Planner : ErrorsOf {
 public:
  Planner(const GgufHeader& header, std::span<const std::byte> file, const std::string& source)
      : ErrorsOf(source), header_(header), file_(file) {}

  ConvertedModel plan() {
    find_architecture();
    check_settings();
    write_config();
    model_.settings = parse_decoder_config(model_.config.dump(), source() + " (as config.json)");
    check_widths();
    place_tensors();
    return std::move(model_);
  }

 private:
  std::string key(std::string_view setting) const { return fmt::format("{}.{}", kind_->architecture, setting); }

  const GgufValue* find(std::string_view setting) const {
    const auto found = header_.metadata.find(key(setting));
    return found == header_.metadata.end() ? nullptr : &found->second;
  }

  const GgufTensor* find_tensor(std::string_view name) const {
    const auto found = std::find_if(header_.tensors.begin(), header_.tensors.end(),
                                    [&](const GgufTensor& tensor) { return tensor.name == name; });
    return found == header_.tensors.end() ? nullptr : &*found;
  }

  // Returns a setting in config.json's form, or null if there is none. Its range is checked when config.json is read.
  Json number(std::string_view setting) const {
    const GgufValue* const value = find(setting);
    if (value == nullptr) return nullptr;
    if (const auto* whole = std::get_if<std::int64_t>(value)) return *whole;
    const auto* real = std::get_if<double>(value);
    if (real != nullptr && std::isfinite(*real)) return shortest_decimal(*real);
    if (std::get_if<GgufArray>(value) != nullptr) {
      unsupported(
          "expected one number as {} for all layers, found a list; a Hugging Face folder of this "
          "architecture cannot say that",
          key(setting));
    }
    damaged("{}: expected a finite number, found something else", key(setting));
  }

  Json required_number(std::string_view setting) const {
    Json value = number(setting);
    if (value.is_null()) damaged("expected the setting {}, found none; convert the model to GGUF again", key(setting));
    return value;
  }

  void find_architecture() {
    const std::int64_t files = header_.number("split.count").value_or(1);
    if (files > 1) {
      unsupported("expected a model in one file, found the first of {}; join them (llama-gguf-split --merge)", files);
    }
    const std::string name = header_.text("general.architecture").value_or("");
    for (const Convertible& one : kConvertible) {
      if (one.architecture == name) kind_ = &one;
    }
    if (kind_ == nullptr) {
      unsupported(
          "expected an architecture that can be converted ({}), found {}; attention of other GGUF "
          "models is computed from the file itself",
          list_of(kConvertible, &Convertible::architecture), name.empty() ? "none" : quote_name(name));
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
      const bool off = is_off_at_zero(setting) && number != nullptr && *number == 0;
      if (!off && !is_known(setting)) unknown.push_back(name);
    }
    if (!unknown.empty()) {
      unsupported("found unknown settings {}, whose effect would be lost; the model is not converted",
                  quote_names(unknown));
    }
    const GgufValue* const causal = find("attention.causal");
    const bool* flag = causal == nullptr ? nullptr : std::get_if<bool>(causal);
    if (flag != nullptr && !*flag) unsupported("expected a decoder, found a model with bidirectional attention");
  }

  void write_config() {
    const DecoderKeys& keys = row_->keys;
    Json& config = model_.config;
    const auto set = [&](std::string_view name, const Json& value) {
      if (!name.empty() && !value.is_null()) config[std::string(name)] = value;
    };
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
    // True for all maps and layers or for none; a bias that is present nevertheless has no counterpart below.
    if (row_->biases.query_key_value == BiasRule::kSetting)
      set(keys.attention_bias, find_tensor("blk.0.attn_output.bias") != nullptr);
    if (row_->biases.feed_forward == BiasRule::kSetting)
      set(keys.feed_forward_bias, find_tensor("blk.0.ffn_up.bias") != nullptr);
    if (row_->positions == PositionKind::kRotary) write_rotary();
    if (row_->window == WindowRule::kSwitched) set("use_sliding_window", false);
    // The vocabulary size comes from the embedding, because the setting is not always present.
    const GgufTensor* const embedding = find_tensor("token_embd.weight");
    if (embedding == nullptr || embedding->extents.size() != 2)
      damaged("expected a matrix token_embd.weight, found none; download the file again");
    set("vocab_size", embedding->extents[1]);
    set("tie_word_embeddings", find_tensor("output.weight") == nullptr);
  }

  void write_rotary() {
    Json theta = number("rope.freq_base");
    if (theta.is_null()) theta = RotaryConfig().theta;
    model_.config["rope_theta"] = theta;
    std::string type = "none";
    if (find("rope.scaling.type") != nullptr) type = header_.text(key("rope.scaling.type")).value_or("");
    // The setting's old name gives only the factor.
    const Json old_factor = number("rope.scale_linear");
    if (type == "none" && !old_factor.is_null() && old_factor != 1.0) type = "linear";
    if (type == "linear") {
      const Json factor = number("rope.scaling.factor");
      model_.config["rope_scaling"] = {{"rope_type", type}, {"factor", factor.is_null() ? old_factor : factor}};
    } else if (type != "none") {
      unsupported("expected a rotary embedding that is not scaled, or linearly, found the type {}", quote_name(type));
    }
    frequencies_ = find_tensor("rope_freqs.weight");
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

  // Checks settings that config.json cannot express, or that only GGUF states twice.
  void check_widths() const {
    const DecoderConfig& config = model_.settings;
    const auto check = [&](std::string_view setting, std::size_t expected, std::string_view what) {
      const Json found = number(setting);
      if (found.is_null() || found == expected) return;
      unsupported("{}: expected {}, {}, found {}", key(setting), expected, what, found.dump());
    };
    check("attention.key_length", config.head_width, "the width of a head");
    check("attention.value_length", config.head_width, "the width of a head");
    check("attention.head_count_kv", config.key_value_heads, "as many as there are heads");
    check("vocab_size", config.vocabulary, "as many as the embedding has rows");
    if (row_->positions == PositionKind::kRotary)
      check("rope.dimension_count", config.head_width, "since whole heads are rotated");
    if (frequencies_ != nullptr && frequencies_->extents[0] != config.head_width / 2) {
      damaged("rope_freqs.weight: expected {} numbers, found {}", config.head_width / 2, frequencies_->extents[0]);
    }
  }

  std::optional<ConvertedTensor> place(const GgufTensor& tensor) const {
    std::string_view part = tensor.name;
    const bool inside = part.starts_with(kLayer);
    std::string name(row_->prefix);
    if (inside) {
      part.remove_prefix(kLayer.size());
      std::size_t layer = 0;
      const auto number = std::from_chars(part.data(), part.data() + part.size(), layer);
      part.remove_prefix(static_cast<std::size_t>(number.ptr - part.data()));
      if (number.ec != std::errc() || !part.starts_with('.')) return std::nullopt;
      part.remove_prefix(1);
      name += fmt::format(fmt::runtime(row_->names.layer), layer);
    }
    const std::size_t dot = std::min(part.rfind('.'), part.size());
    const std::string_view kind = part.substr(dot);  // ".weight" or ".bias"
    part = part.substr(0, dot);
    const std::span<const Part> parts = inside ? std::span<const Part>(kInside) : std::span<const Part>(kOutside);
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const Part& one) { return one.name == part; });
    if (found == parts.end()) return std::nullopt;
    const std::string_view theirs = row_->names.*found->theirs;
    if (theirs.empty() || is_one_map(theirs) != found->letter.empty()) return std::nullopt;
    if (found->theirs == &DecoderNames::output) name.clear();
    name += fmt::format(fmt::runtime(theirs), found->letter) + std::string(kind);

    ConvertedTensor placed{name, Shape(tensor.extents.rbegin(), tensor.extents.rend()), &tensor, TensorChange::kNone,
                           model_.settings.head_width};
    if (inside && row_->layout == MatrixLayout::kInOut && placed.shape.size() == 2) {
      placed.change = TensorChange::kTransposed;
      std::swap(placed.shape[0], placed.shape[1]);
    } else if (kind_->paired_rotary && (part == "attn_q" || part == "attn_k")) {
      placed.change = TensorChange::kHalves;
    }
    return placed;
  }

  // Checks tensors before any number is read, as a backend does for a folder.
  void place_tensors() {
    std::map<std::string, StoredTensor, std::less<>> tensors;
    std::vector<std::string_view> left;
    for (const GgufTensor& tensor : header_.tensors) {
      if (&tensor == frequencies_) continue;
      const std::optional<ConvertedTensor> placed = place(tensor);
      if (placed && !tensor.bytes) {
        unsupported("tensor {}: expected a type of tensor that is known here, found number {}", quote_name(tensor.name),
                    tensor.type);
      }
      if (placed &&
          tensors.emplace(placed->name, StoredTensor{tensor.name, DType::kF32, placed->shape, {}, source()}).second) {
        model_.tensors.push_back(*placed);
      } else {
        left.push_back(tensor.name);
      }
    }
    const auto checkpoint = std::make_shared<const Checkpoint>(std::move(tensors), source());
    const DecoderWeights weights =
        find_decoder_weights(model_.settings, checkpoint, source(), {.allow_unused_weights = true});
    for (const StoredTensor* const tensor : weights.unused) left.push_back(tensor->name);
    if (left.empty()) return;
    unsupported(
        "expected the tensors of a {} model, found {} as well, whose effect would be lost; the model is not converted",
        kind_->architecture, quote_names(left));
  }

  const GgufHeader& header_;
  std::span<const std::byte> file_;
  const Convertible* kind_ = nullptr;
  const DecoderArchitecture* row_ = nullptr;
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
  constexpr double kTolerance = 1e-5;  // a few float32 roundings
  if (factors.empty()) return std::nullopt;
  RotaryConfig rotary = {.theta = theta};
  const std::vector<float> plain = rotary.frequencies(2 * factors.size());
  Llama3Scaling found;
  // The slowest rotations are divided by the factor itself.
  found.factor = static_cast<double>(*std::max_element(factors.begin(), factors.end()));
  if (!(found.factor > 1.0) || !std::isfinite(found.factor)) return std::nullopt;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double one = static_cast<double>(factors[i]);
    if (!(one > 1.0 + kTolerance && one < found.factor * (1.0 - kTolerance))) continue;
    const double share = (1.0 / one - 1.0 / found.factor) / (1.0 - 1.0 / found.factor);
    const double length =
        (rotary.low + share * (rotary.high - rotary.low)) * 2.0 * std::numbers::pi / static_cast<double>(plain[i]);
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
