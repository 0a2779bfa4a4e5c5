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
#include <utility>
#include <variant>

#include "attnflow/files/messages.h"
#include "attnflow/model/architecture.h"
#include "attnflow/model/config_reader.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/family_rows.h"
#include "attnflow/model/model_config.h"
#include "attnflow/model/model_weights.h"

namespace attnflow::internal {
namespace {

using Json = nlohmann::json;

constexpr double kMaxLength = 0x1p31;  // of any text, in tokens
constexpr std::uint32_t kFloat32 = 0;  // in ggml's types

// A trait of an architecture that the row of its model type (architecture.h) does not state.
enum class Peculiarity {
  kNone,
  kPairedRotary,   // rotary pairs are adjacent
  kSaysParallel,   // use_parallel_residual tells whether a layer's halves are parallel, elsewhere the lack of ffn_norm
  kWindowStated,   // without attention.sliding_window there is no window, elsewhere the usual one
  kWindowIgnored,  // libllama does not apply attention.sliding_window
  kNormalized,     // libllama makes the weights of a token's experts sum to 1
  kNormBetween,    // post_attention_norm precedes the feed-forward network, elsewhere it follows attention
};

struct Convertible {
  std::string_view architecture;  // in GGUF
  std::string_view model_type;    // Hugging Face's
  Peculiarity peculiarity = Peculiarity::kNone;
  std::size_t largest = 0;  // with so many layers, libllama divides scores by sqrt(hidden / heads)

  const Architecture& row() const { return *attnflow::find_architecture(model_type); }
};
constexpr std::array kConvertible = {
    Convertible{"gpt2", "gpt2"},
    Convertible{"llama", "llama", Peculiarity::kPairedRotary},
    Convertible{"llama", "mixtral", Peculiarity::kPairedRotary},  // with experts
    Convertible{"qwen2", "qwen2"},
    Convertible{"qwen3", "qwen3"},
    Convertible{"qwen3moe", "qwen3_moe", Peculiarity::kNormalized},
    Convertible{"olmoe", "olmoe"},
    Convertible{"gpt-oss", "gpt_oss", Peculiarity::kNormBetween},
    Convertible{"smollm3", "smollm3", Peculiarity::kPairedRotary},
    Convertible{"granite", "granite", Peculiarity::kPairedRotary},
    Convertible{"olmo2", "olmo2"},
    Convertible{"gemma", "gemma"},
    Convertible{"gemma2", "gemma2", Peculiarity::kNone, 46},
    Convertible{"gemma3", "gemma3_text", Peculiarity::kWindowStated, 62},
    Convertible{"phi2", "phi"},
    Convertible{"phi3", "phi3", Peculiarity::kWindowIgnored},
    Convertible{"starcoder2", "starcoder2"},
    Convertible{"stablelm", "stablelm"},
    Convertible{"gptneox", "gpt_neox", Peculiarity::kSaysParallel},
    Convertible{"falcon", "falcon"},
    Convertible{"bloom", "bloom"},
    Convertible{"command-r", "cohere"},
    Convertible{"cohere2", "cohere2"},
};
constexpr std::string_view kYarn = "yarn";
constexpr std::string_view kYarnFast = "rope.scaling.yarn_beta_fast";
constexpr std::string_view kYarnSlow = "rope.scaling.yarn_beta_slow";
constexpr std::size_t kRotaryInterval = 4;  // of smollm3 in libllama: the last layer of so many does not rotate

// Numbers that are in config.json under the row's key. An architecture without such a key does not have the setting.
struct Number {
  std::string_view setting;
  std::string_view ConfigKeys::*key;
};
constexpr std::array kNumbers = {
    Number{"attention.scale", &ConfigKeys::score_factor},
    Number{"attn_logit_softcapping", &ConfigKeys::score_cap},
    Number{"embedding_scale", &ConfigKeys::embedding_factor},
    Number{"final_logit_softcapping", &ConfigKeys::logit_cap},
    Number{"logit_scale", &ConfigKeys::logit_divisor},
    Number{"logit_scale", &ConfigKeys::logit_factor},
    Number{"residual_scale", &ConfigKeys::residual_factor},
    Number{"rope.freq_base_swa", &ConfigKeys::local_rotary_theta},
};

// Whether a setting is read, or does not affect the computation, in all architectures.
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
  std::string_view TensorNames::*theirs;
  std::string_view letter = {};  // fills the {0} of a name: q, k or v
};
struct ExpertPart {
  std::string_view name;
  std::string_view ExpertRow::*theirs;
};
constexpr std::array kExperts = {
    ExpertPart{"ffn_gate_inp", &ExpertRow::router}, ExpertPart{"ffn_gate_exps", &ExpertRow::gate},
    ExpertPart{"ffn_up_exps", &ExpertRow::in}, ExpertPart{"ffn_down_exps", &ExpertRow::out}};
constexpr std::string_view kExpertWidth = "expert_feed_forward_length";
constexpr std::string_view kLayer = "blk.";
constexpr std::array kOutside = {Part{"token_embd", &TensorNames::word},
                                 Part{"token_embd_norm", &TensorNames::embedding_norm},
                                 Part{"position_embd", &TensorNames::position},
                                 Part{"output_norm", &TensorNames::final_norm}, Part{"output", &TensorNames::output}};
constexpr std::array kInside = {Part{"attn_norm", &TensorNames::attention_norm},
                                Part{"attn_norm_2", &TensorNames::parallel_attention_norm},
                                Part{"attn_qkv", &TensorNames::query_key_value},
                                Part{"attn_q", &TensorNames::query_key_value, "q"},
                                Part{"attn_k", &TensorNames::query_key_value, "k"},
                                Part{"attn_v", &TensorNames::query_key_value, "v"},
                                Part{"attn_q_norm", &TensorNames::query_norm},
                                Part{"attn_k_norm", &TensorNames::key_norm},
                                Part{"attn_sinks", &TensorNames::sinks},
                                Part{"attn_output", &TensorNames::attention_output},
                                Part{"post_attention_norm", &TensorNames::attention_after},
                                Part{"ffn_norm", &TensorNames::feed_forward_norm},
                                Part{"ffn_gate", &TensorNames::gate},
                                Part{"ffn_up", &TensorNames::feed_forward_in},
                                Part{"ffn_down", &TensorNames::feed_forward_out},
                                Part{"post_ffw_norm", &TensorNames::feed_forward_after}};

class Planner : ErrorsOf {
 public:
  Planner(const GgufHeader& header, const GgufBytes& bytes, const std::string& source)
      : ErrorsOf(source), header_(header), bytes_(bytes) {}

  ConvertedModel plan() {
    find_architecture();
    check_settings();
    write_config();
    model_.settings =
        parse_model_config(model_.config.dump(), source() + " (as config.json)", ArchitectureKind::kDecoder);
    if (has(Peculiarity::kWindowIgnored)) model_.settings.windows.assign(model_.settings.layers, 0);
    check_widths();
    place_tensors();
    return std::move(model_);
  }

 private:
  bool has(Peculiarity one) const { return kind_->peculiarity == one; }
  bool has_tensor(std::string_view name) const { return find_tensor(name) != nullptr; }
  const ModelConfig& settings() const { return model_.settings; }

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

  bool required_flag(std::string_view setting) const {
    const GgufValue* const value = find(setting);
    const bool* const flag = value == nullptr ? nullptr : std::get_if<bool>(value);
    if (flag == nullptr) damaged("expected the setting {}, true or false, found none", key(setting));
    return *flag;
  }

  void find_architecture() {
    const std::string name = header_.text("general.architecture").value_or("");
    const std::int64_t experts = header_.number(name + ".expert_count").value_or(0);
    bool is_listed = false;
    for (const Convertible& one : kConvertible) {
      if (one.architecture != name) continue;
      is_listed = true;
      if (one.row().experts.any() == (experts > 0)) kind_ = &one;
    }
    if (!is_listed) {
      unsupported(
          "expected an architecture that can be converted ({}), found {}; attention of other GGUF "
          "models is computed from the file itself",
          list_of(kConvertible, &Convertible::architecture), name.empty() ? "none" : quote_name(name));
    }
    if (kind_ == nullptr) {
      unsupported(
          "expected {} in each layer of the architecture {}, found {} experts ({}.expert_count); attention of such a "
          "model is computed from the file itself",
          experts > 0 ? "one feed-forward network" : "a mixture of experts", name, experts, name);
    }
    row_ = &kind_->row();
  }

  // Whether a setting is read, or does not affect the computation.
  bool is_read(std::string_view setting) const {
    const bool interval = row_->window == WindowRule::kInterval;
    if (setting == "attention.sliding_window") return interval || has(Peculiarity::kWindowIgnored);
    if (setting == "attention.sliding_window_pattern") return interval;
    if (setting == "rope.scaling.attn_factor") return has_long_rotary();
    if (setting == "rope.scaling.original_context_length") return has_long_rotary() || rotary_type() == kYarn;
    if (is_one_of(setting, kYarnFast, kYarnSlow)) return rotary_type() == kYarn;
    if (setting == "use_parallel_residual") return !row_->keys.parallel.empty();
    if (is_one_of(setting, "expert_count", "expert_used_count", kExpertWidth)) return row_->experts.any();
    return is_known(setting) || std::any_of(kNumbers.begin(), kNumbers.end(), [&](const Number& one) {
             return one.setting == setting && !(row_->keys.*one.key).empty();
           });
  }

  std::string rotary_type() const { return header_.text(key("rope.scaling.type")).value_or(""); }

  // Whether rotary embeddings may have factors for short and for long texts.
  bool has_long_rotary() const { return row_->first_length != 0; }

  void check_settings() const {
    const std::string prefix = key("");
    std::vector<std::string_view> unknown;
    for (const auto& [name, value] : header_.metadata) {
      if (!name.starts_with(prefix)) continue;
      const std::string_view setting = std::string_view(name).substr(prefix.size());
      const auto* number = std::get_if<std::int64_t>(&value);
      const bool off = is_off_at_zero(setting) && number != nullptr && *number == 0;
      if (!off && !is_read(setting)) unknown.push_back(name);
    }
    if (!unknown.empty()) {
      unsupported("found unknown settings {}, whose effect would be lost; the model is not converted",
                  quote_names(unknown));
    }
    const GgufValue* const causal = find("attention.causal");
    const bool* flag = causal == nullptr ? nullptr : std::get_if<bool>(causal);
    if (flag != nullptr && !*flag) unsupported("expected a decoder, found a model with bidirectional attention");
  }

  // Nothing is written under an empty key: the architecture has no such setting.
  void set(std::string_view key, const Json& value) {
    if (!key.empty() && !value.is_null()) model_.config[std::string(key)] = value;
  }

  void write_config() {
    const ConfigKeys& keys = row_->keys;
    set("architectures", Json::array({fmt::format("{}{}", row_->class_name,
                                                  kind_->architecture == "gpt2" ? "LMHeadModel" : "ForCausalLM")}));
    set("model_type", std::string(kind_->model_type));
    set(keys.hidden.substr(keys.hidden.rfind('|') + 1), required_number("embedding_length"));
    set(keys.layers, required_number("block_count"));
    const Json width = row_->experts.any() ? number(kExpertWidth) : Json();
    set(keys.intermediate, width.is_null() ? required_number("feed_forward_length") : width);
    if (row_->experts.any()) write_experts();
    set(keys.positions, required_number("context_length"));
    const bool rms = row_->norm == NormKind::kRms || row_->norm == NormKind::kRmsPlusOne;
    set(keys.norm_eps, required_number(rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon"));
    set(keys.activation, row_->gelu_is_tanh ? "gelu_pytorch_tanh" : std::string(row_->activation));
    write_heads();
    write_layers();
    write_window();
    if (row_->positions == PositionKind::kRotary) write_rotary();
    for (const Number& one : kNumbers) set(row_->keys.*one.key, number(one.setting));
    // The vocabulary size comes from the embedding, because the setting is not always present.
    const GgufTensor* const embedding = find_tensor("token_embd.weight");
    if (embedding == nullptr || embedding->extents.size() != 2)
      damaged("expected a matrix token_embd.weight, found none; download the file again");
    set("vocab_size", embedding->extents[1]);
    set("tie_word_embeddings", !has_tensor("output.weight"));
  }

  // Writes the heads, and what scores and logits are multiplied by if the file does not say so.
  void write_heads() {
    const ConfigKeys& keys = row_->keys;
    const Json heads = required_number("attention.head_count");
    set(keys.heads, heads);
    const Json stated = number("attention.head_count_kv");
    const Json& key_value_heads = stated.is_null() ? heads : stated;
    set(keys.key_value_heads, key_value_heads);
    if (!keys.grouped.empty()) {
      const bool norms = has_tensor("blk.0.attn_norm_2.weight");
      set(keys.multi_query, key_value_heads == 1);
      set(keys.grouped, norms || key_value_heads != 1);
      set(keys.parallel_norms, norms ? 2 : 1);
    }
    const auto hidden = header_.number(key("embedding_length")).value_or(0);
    const auto count = header_.number(key("attention.head_count")).value_or(0);
    const std::int64_t width = count <= 0 ? 0 : header_.number(key("attention.key_length")).value_or(hidden / count);
    if (width <= 0) return;  // refused when config.json is read
    set(keys.head_width, width);
    const bool largest = kind_->largest != 0 && number("block_count") == kind_->largest;
    set(keys.score_width, largest ? hidden / count : width);
    set(keys.score_factor, 1.0 / std::sqrt(static_cast<double>(width)));
    set(keys.logit_factor, 1.0);
    if (row_->partial_rotary) set(keys.rotary_share, rotary_share(width));
  }

  // Returns the part of a head's `width` numbers that is rotated, such that `width` times it is a whole number.
  Json rotary_share(std::int64_t width) const {
    const auto turned = header_.number(key("rope.dimension_count")).value_or(width);
    double share = static_cast<double>(turned) / static_cast<double>(width);
    if (turned > width) return share;  // refused when config.json is read
    if (static_cast<std::int64_t>(static_cast<double>(width) * share) < turned) share = std::nextafter(share, 2.0);
    return share;
  }

  void write_experts() {
    const ExpertRow& experts = row_->experts;
    set(experts.count.substr(0, experts.count.find('|')), required_number("expert_count"));
    set(experts.chosen, required_number("expert_used_count"));
    set(experts.normalized, has(Peculiarity::kNormalized));
  }

  // Writes which biases layers have, and how their halves are connected.
  void write_layers() {
    const ConfigKeys& keys = row_->keys;
    const auto is_setting = [](BiasRule rule) {
      return rule == BiasRule::kSetting || rule == BiasRule::kSettingOrTrue;
    };
    // True for all maps and layers or for none; a bias that is present nevertheless has no counterpart below.
    if (is_setting(row_->biases.attention_output)) {
      set(keys.attention_bias, has_tensor("blk.0.attn_output.bias"));
    } else if (is_setting(row_->biases.query_key_value)) {
      set(keys.attention_bias, has_tensor("blk.0.attn_q.bias"));
    }
    if (is_setting(row_->biases.feed_forward)) set(keys.feed_forward_bias, has_tensor("blk.0.ffn_up.bias"));
    set(keys.parallel, has(Peculiarity::kSaysParallel) ? required_flag("use_parallel_residual")
                                                       : !has_tensor("blk.0.ffn_norm.weight"));
    set(keys.rotary_interval, kRotaryInterval);
  }

  void write_window() {
    if (is_switched(row_->window)) set("use_sliding_window", false);
    if (row_->window == WindowRule::kNone || is_switched(row_->window)) return;
    const bool interval = row_->window == WindowRule::kInterval;
    Json window = number("attention.sliding_window");
    if (window.is_null() && interval && !has(Peculiarity::kWindowStated)) window = row_->window_size;
    if (window == 0) window = nullptr;
    model_.config[std::string(row_->keys.window)] = window;
    if (!interval) return;
    const auto layers = static_cast<std::size_t>(header_.number(key("block_count")).value_or(0));
    if (layers > kMaxConfigLayers) return;  // refused when config.json is read
    auto every = static_cast<std::int64_t>(row_->window_interval);
    const std::string name = key("attention.sliding_window_pattern");
    const GgufArray* const each = header_.array(name);
    if (each != nullptr && each->numbers.size() != layers)
      damaged("{}: expected {} entries, found {}", name, layers, each->numbers.size());
    if (each == nullptr) every = header_.number(name).value_or(every);
    if (every < 0) damaged("{}: expected a number of at least 0, found {}", name, every);
    Json types = Json::array();
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const auto place = static_cast<std::int64_t>(layer);
      const bool local = each != nullptr ? each->numbers[layer] != 0 : every == 0 || place % every < every - 1;
      types.push_back(local && !window.is_null() ? "sliding_attention" : "full_attention");
    }
    model_.config["layer_types"] = types;
  }

  void write_rotary() {
    Json theta = number("rope.freq_base");
    if (theta.is_null()) theta = RotaryConfig().theta;
    set(row_->keys.rotary_theta, theta);
    const bool stated = find("rope.scaling.type") != nullptr;
    std::string type = stated ? header_.text(key("rope.scaling.type")).value_or("") : "linear";
    if (type == "longrope" && has_long_rotary()) type = "none";
    if (type == "linear") {
      Json factor = number("rope.scaling.factor");
      if (factor.is_null()) factor = number("rope.scale_linear");  // the old name
      if (factor.is_null() || factor == 0 || factor == 1) {
        type = "none";
      } else {
        model_.config["rope_scaling"] = {{"rope_type", type}, {"factor", factor}};
      }
    } else if (type == kYarn && !has_long_rotary()) {
      write_yarn();
    } else if (type != "none") {
      unsupported("expected a rotary embedding that is not scaled, or linearly, or by YaRN, found the type {}",
                  quote_name(type));
    }
    if (type == "none" && row_->stated_rotary) model_.config["rope_scaling"] = {{"rope_type", "default"}};
    if (has_long_rotary()) write_long_rotary(type == "linear");
    frequencies_ = find_tensor("rope_freqs.weight");
    if (frequencies_ == nullptr) return;
    const std::vector<float> factors = read_factors(*frequencies_);
    if (std::all_of(factors.begin(), factors.end(), [](float factor) { return factor == 1.0F; })) return;
    const std::optional<Llama3Scaling> scaling = find_llama3_scaling(factors, theta.get<double>());
    if (!scaling || model_.config.contains("rope_scaling")) {
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

  // libllama rounds the two limits between which pairs are scaled to whole numbers; gpt-oss does not.
  void write_yarn() {
    Json length = number("rope.scaling.original_context_length");
    if (length.is_null()) length = required_number("context_length");
    Json& scaling = model_.config["rope_scaling"];
    scaling = {{"rope_type", kYarn},
               {"factor", required_number("rope.scaling.factor")},
               {"original_max_position_embeddings", length}};
    for (const auto& [theirs, setting] : {std::pair("beta_fast", kYarnFast), std::pair("beta_slow", kYarnSlow)}) {
      if (const Json stated = number(setting); !stated.is_null()) scaling[theirs] = stated;
    }
    if (row_->stated_rotary) scaling["truncate"] = false;
  }

  // Writes Phi 3's factors for texts up to and beyond the original training length.
  void write_long_rotary(bool linear) {
    const Json longest = number("context_length");
    Json length = number("rope.scaling.original_context_length");
    if (length.is_null()) length = longest;
    model_.config["original_max_position_embeddings"] = length;
    long_ = find_tensor("rope_factors_long.weight");
    short_ = find_tensor("rope_factors_short.weight");
    const Json stated = number("rope.scaling.attn_factor");
    const double amplitude = stated.is_null() ? 1.0 : stated.get<double>();
    if (long_ == nullptr && short_ == nullptr && amplitude == 1.0) return;
    if (long_ == nullptr || short_ == nullptr || linear) {
      damaged("expected rope_factors_long.weight and rope_factors_short.weight and no other scaling, or neither");
    }
    const auto listed = [&](const GgufTensor& tensor) {
      Json list = Json::array();
      for (const float factor : read_factors(tensor)) list.push_back(shortest_decimal(static_cast<double>(factor)));
      return list;
    };
    Json& scaling = model_.config["rope_scaling"];
    scaling = {{"rope_type", "longrope"}, {"long_factor", listed(*long_)}, {"short_factor", listed(*short_)}};
    // Left out where it is what transformers computes, since old versions do not know the key.
    constexpr double kTolerance = 1e-6;
    const double ratio = longest.get<double>() / length.get<double>();
    const double usual = ratio <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(ratio) / std::log(length.get<double>()));
    if (!(std::abs(amplitude - usual) <= kTolerance)) scaling["attention_factor"] = amplitude;
  }

  std::vector<float> read_factors(const GgufTensor& tensor) const {
    if (tensor.type != kFloat32 || tensor.extents.size() != 1)
      damaged("{}: expected a row of float32 numbers, found something else", quote_name(tensor.name));
    std::vector<float> factors(tensor.extents[0]);
    std::memcpy(factors.data(), bytes_(tensor).data(), factors.size() * sizeof(float));
    return factors;
  }

  // Checks settings that config.json cannot express, or that only GGUF states twice.
  void check_widths() const {
    const ModelConfig& config = model_.settings;
    const auto check = [&](std::string_view setting, std::size_t expected, std::string_view what) {
      const Json found = number(setting);
      if (found.is_null() || found == expected) return;
      unsupported("{}: expected {}, {}, found {}", key(setting), expected, what, found.dump());
    };
    check("attention.key_length", config.head_width, "the width of a head");
    check("attention.value_length", config.head_width, "the width of a head");
    check("attention.head_count_kv", config.key_value_heads, "as many as there are heads");
    check("vocab_size", config.vocabulary, "as many as the embedding has rows");
    if (find(kExpertWidth) == nullptr)
      check("feed_forward_length", config.intermediate, "a multiple of the hidden size that is fixed");
    if (row_->positions == PositionKind::kRotary && !row_->partial_rotary)
      check("rope.dimension_count", config.head_width, "since whole heads are rotated");
    if (frequencies_ != nullptr && frequencies_->extents[0] != config.rotary_width / 2) {
      damaged("rope_freqs.weight: expected {} numbers, found {}", config.rotary_width / 2, frequencies_->extents[0]);
    }
  }

  ConvertedTensor unchanged(const GgufTensor& tensor, std::string name) const {
    return {.name = std::move(name),
            .shape = Shape(tensor.extents.rbegin(), tensor.extents.rend()),
            .source = &tensor,
            .head_width = settings().head_width,
            .heads = settings().heads,
            .key_value_heads = settings().key_value_heads};
  }

  // Returns nothing for a tensor that a folder cannot have.
  std::vector<ConvertedTensor> place(const GgufTensor& tensor) const {
    std::string_view part = tensor.name;
    const bool inside = part.starts_with(kLayer);
    std::string name(row_->prefix);
    if (inside) {
      part.remove_prefix(kLayer.size());
      std::size_t layer = 0;
      const auto number = std::from_chars(part.data(), part.data() + part.size(), layer);
      part.remove_prefix(static_cast<std::size_t>(number.ptr - part.data()));
      if (number.ec != std::errc() || !part.starts_with('.')) return {};
      part.remove_prefix(1);
      name += fmt::format(fmt::runtime(row_->names.layer), layer);
    }
    const std::size_t dot = std::min(part.rfind('.'), part.size());
    const std::string_view kind = part.substr(dot);  // ".weight" or ".bias"
    part = part.substr(0, dot);
    if (inside && row_->experts.any()) {
      const auto found =
          std::find_if(kExperts.begin(), kExperts.end(), [&](const ExpertPart& one) { return one.name == part; });
      if (found != kExperts.end()) return place_experts(tensor, name, row_->experts.*found->theirs, kind);
    }
    const std::span<const Part> parts = inside ? std::span<const Part>(kInside) : std::span<const Part>(kOutside);
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const Part& one) { return one.name == part; });
    if (found == parts.end()) return {};
    const TensorNames& names = row_->names;
    std::string_view theirs = names.*found->theirs;
    const bool own_norms = settings().parallel && !settings().shared_norm && !names.parallel_attention_norm.empty();
    if (part == "attn_norm" && own_norms) theirs = names.parallel_feed_forward_norm;
    if (part == "ffn_up" && !names.gate_and_in.empty()) theirs = names.gate_and_in;
    if (part == "post_attention_norm" && has(Peculiarity::kNormBetween)) theirs = names.feed_forward_norm;
    if (theirs.empty() || is_one_map(theirs) != found->letter.empty()) return {};
    if (found->theirs == &TensorNames::output) name.clear();
    name += fmt::format(fmt::runtime(theirs), found->letter);
    if (found->theirs != &TensorNames::sinks) name += kind;

    ConvertedTensor placed = unchanged(tensor, name);
    if (inside && row_->layout == MatrixLayout::kInOut && placed.shape.size() == 2) {
      placed.change = TensorChange::kTransposed;
      std::swap(placed.shape[0], placed.shape[1]);
    } else if (has(Peculiarity::kPairedRotary) && (part == "attn_q" || part == "attn_k")) {
      placed.change = TensorChange::kHalves;
    } else if (part == "attn_qkv" && row_->query_key_value_order == QueryKeyValueOrder::kByHead) {
      placed.change = TensorChange::kByHead;
    } else if (row_->norm == NormKind::kRmsPlusOne && placed.shape.size() == 1 && kind == ".weight") {
      placed.change = TensorChange::kMinusOne;
    }
    return {placed};
  }

  // Places the router, or what GGUF stacks as one tensor: a map of every expert.
  std::vector<ConvertedTensor> place_experts(const GgufTensor& tensor, const std::string& layer,
                                             std::string_view theirs, std::string_view kind) const {
    const bool is_stack = !is_one_map(theirs);
    std::vector<ConvertedTensor> placed(is_stack ? settings().experts : 1);
    if (is_stack && (tensor.extents.size() < 2 || tensor.extents.back() != placed.size())) return {};
    for (std::size_t e = 0; e < placed.size(); ++e) {
      placed[e] = unchanged(tensor, layer + fmt::format(fmt::runtime(theirs), e) + std::string(kind));
      if (!is_stack) continue;
      placed[e].expert = e;
      placed[e].shape.erase(placed[e].shape.begin());
    }
    return placed;
  }

  // Checks tensors before any number is read, as a backend does for a folder.
  void place_tensors() {
    std::map<std::string, StoredTensor, std::less<>> tensors;
    std::vector<std::string_view> left;
    for (const GgufTensor& tensor : header_.tensors) {
      if (&tensor == frequencies_ || &tensor == long_ || &tensor == short_) continue;
      const std::vector<ConvertedTensor> placed = place(tensor);
      if (!placed.empty() && !tensor.bytes) {
        unsupported("tensor {}: expected a type of tensor that is known here, found number {}", quote_name(tensor.name),
                    tensor.type);
      }
      bool is_new = !placed.empty();
      for (const ConvertedTensor& one : placed) {
        is_new =
            is_new && tensors.emplace(one.name, StoredTensor{tensor.name, DType::kF32, one.shape, {}, source()}).second;
        if (is_new) model_.tensors.push_back(one);
      }
      if (!is_new) left.push_back(tensor.name);
    }
    refuse_left(left);  // before a message about tensors that are missing for the same reason
    const auto checkpoint = std::make_shared<const Checkpoint>(std::move(tensors), source());
    const ModelWeights weights = find_weights(model_.settings, checkpoint, source(), {.allow_unused_weights = true});
    for (const StoredTensor* const tensor : weights.unused) {
      if (left.empty() || left.back() != tensor->name) left.push_back(tensor->name);  // a stack is listed once
    }
    refuse_left(left);
  }

  void refuse_left(const std::vector<std::string_view>& left) const {
    if (left.empty()) return;
    unsupported(
        "expected the tensors of a {} model, found {} as well, whose effect would be lost; the model is not converted",
        kind_->architecture, quote_names(left));
  }

  const GgufHeader& header_;
  const GgufBytes& bytes_;
  const Convertible* kind_ = nullptr;
  const Architecture* row_ = nullptr;
  const GgufTensor* frequencies_ = nullptr;
  const GgufTensor* long_ = nullptr;
  const GgufTensor* short_ = nullptr;
  ConvertedModel model_;
};

}  // namespace

ConvertedModel plan_conversion(const GgufHeader& header, const GgufBytes& bytes, const std::string& source) {
  return Planner(header, bytes, source).plan();
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
