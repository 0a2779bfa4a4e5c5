#include "training/trainer/new_model.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "attnflow/base/random.h"
#include "attnflow/files/array_file.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/model/architecture.h"
#include "attnflow/model/torch/make_models.h"

namespace attnflow {

namespace {

Tensor<float> first_weight(const PlannedTensor& plan, std::uint64_t seed) {
  Tensor<float> tensor(plan.shape);
  if (plan.kind == PlannedTensor::Kind::kNormScale) {
    for (float& value : tensor.span()) value = 1.0F;
  } else if (plan.kind == PlannedTensor::Kind::kMatrix) {
    constexpr double kEmbedding = 0.02;
    const bool embedding = plan.name.find("embeddings.") != std::string::npos;
    const double deviation = embedding ? kEmbedding : 0.5 / std::sqrt(static_cast<double>(plan.shape.back()));
    Random random(stream_seed(seed, plan.name));
    for (float& value : tensor.span()) value = static_cast<float>(deviation * random.normal());
  }
  return tensor;
}

constexpr std::size_t kMaxLayers = 128;
constexpr std::size_t kMaxHeads = 1024;
constexpr std::size_t kMaxHidden = 65536;

struct Limit {
  const char* option;
  std::size_t value;
  std::size_t most;
};

void check_limits(std::initializer_list<Limit> limits) {
  for (const Limit& limit : limits) {
    if (limit.value == 0 || limit.value > limit.most) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("{}: expected a number from 1 to {}, found {}", limit.option, limit.most, limit.value));
    }
  }
}

void check_heads(std::size_t heads, std::size_t hidden) {
  if (hidden % heads != 0) {
    throw Error(ErrorKind::kUsage, fmt::format("--hidden: expected a multiple of --heads {}, found {}", heads, hidden));
  }
}

using Json = nlohmann::ordered_json;

void put_labels(Json& json, const std::vector<std::string>& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) json["id2label"][std::to_string(i)] = labels[i];
  for (std::size_t i = 0; i < labels.size(); ++i) json["label2id"][labels[i]] = i;
}

}  // namespace

void check_recipe(double rate, double dropout) {
  if (!(rate > 0.0 && rate <= 1.0)) {
    throw Error(ErrorKind::kUsage, fmt::format("expected a learning rate above 0 and at most 1, found {}", rate));
  }
  if (!(dropout >= 0.0 && dropout < 1.0)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--dropout: expected a rate of at least 0 and below 1, found {}", dropout));
  }
}

void check_shape(const EncoderShape& shape) {
  check_limits({{"--layers", shape.layers, kMaxLayers},
                {"--heads", shape.heads, kMaxHeads},
                {"--hidden", shape.hidden, kMaxHidden},
                {"--vocabulary", shape.vocabulary, 1 << 20}});
  check_heads(shape.heads, shape.hidden);
}

void check_shape(const VitShape& shape) {
  check_limits({{"--layers", shape.layers, kMaxLayers},
                {"--heads", shape.heads, kMaxHeads},
                {"--hidden", shape.hidden, kMaxHidden},
                {"--intermediate", shape.intermediate, kMaxHidden},
                {"--patch", shape.patch, shape.picture}});
  check_heads(shape.heads, shape.hidden);
  if (shape.picture % shape.patch != 0) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--patch: expected a divisor of {}, the edge of the images in pixels, found {}",
                            shape.picture, shape.patch));
  }
}

std::string new_model_config(const EncoderShape& shape, ModelHead head, const std::vector<std::string>& labels) {
  const ConfigKeys& keys = find_architecture(shape.model_type)->keys;
  Json json;
  json["architectures"] = {shape.class_prefix +
                           (head == ModelHead::kMaskedLm ? "ForMaskedLM" : "ForSequenceClassification")};
  json["model_type"] = shape.model_type;
  json["vocab_size"] = shape.vocabulary;
  json["max_position_embeddings"] = shape.positions;
  json[std::string(keys.hidden)] = shape.hidden;
  json[std::string(keys.layers)] = shape.layers;
  json[std::string(keys.heads)] = shape.heads;
  json[std::string(keys.intermediate)] = shape.intermediate;
  json[std::string(keys.activation)] = shape.activation;
  if (!keys.token_types.empty()) json[std::string(keys.token_types)] = 1;
  if (!keys.norm_eps.empty()) json[std::string(keys.norm_eps)] = 1e-5;
  json["pad_token_id"] = 0;
  json["tie_word_embeddings"] = true;
  if (head == ModelHead::kClassification) put_labels(json, labels);
  return json.dump(2) + "\n";
}

std::string new_vit_config(const VitShape& shape, const std::vector<std::string>& labels) {
  Json json = {{"architectures", {"ViTForImageClassification"}},
               {"model_type", "vit"},
               {"image_size", shape.picture},
               {"patch_size", shape.patch},
               {"num_channels", shape.channels},
               {"hidden_size", shape.hidden},
               {"num_hidden_layers", shape.layers},
               {"num_attention_heads", shape.heads},
               {"intermediate_size", shape.intermediate},
               {"hidden_act", "gelu"},
               {"layer_norm_eps", 1e-6},
               {"qkv_bias", true},
               // Otherwise transformers would apply dropout to activations when someone trains the model further.
               {"hidden_dropout_prob", 0.0},
               {"attention_probs_dropout_prob", 0.0}};
  put_labels(json, labels);
  return json.dump(2) + "\n";
}

std::string new_preprocessor_config(const VitShape& shape, const std::vector<double>& mean,
                                    const std::vector<double>& deviation) {
  constexpr int kBilinear = 2;  // PIL's number
  const Json json = {{"image_processor_type", "ViTImageProcessor"},
                     {"do_resize", true},
                     {"size", {{"height", shape.picture}, {"width", shape.picture}}},
                     {"resample", kBilinear},
                     {"do_rescale", true},
                     {"rescale_factor", 1.0 / 255.0},
                     {"do_normalize", true},
                     {"image_mean", mean},
                     {"image_std", deviation}};
  return json.dump(2) + "\n";
}

WeightMap first_weights(const ModelConfig& config, ModelHead head, std::size_t classes, std::uint64_t seed) {
  WeightMap weights;
  for (const PlannedTensor& plan : plan_tensors(config, head, classes)) {
    weights.emplace(plan.name, first_weight(plan, seed));
  }
  return weights;
}

void take_weights(WeightMap& weights, const WeightMap& from) {
  for (auto& [name, tensor] : weights) {
    const auto found = from.find(name);
    if (found != from.end() && found->second.shape() == tensor.shape()) tensor = found->second;
  }
}

void write_model(const std::filesystem::path& folder, const std::string& config, const WeightMap& weights,
                 DType dtype) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(ErrorKind::kOther, fmt::format("{}: cannot create this folder: {}", folder.string(), error.message()));
  }
  std::vector<NamedArray> arrays;
  for (const auto& [name, tensor] : weights) {
    arrays.push_back({name, dtype == DType::kF16 ? Array::half_of(tensor.view(), name) : Array::from(tensor.view())});
  }
  write_file(folder / "config.json", config);
  // transformers requires the format of the file's writer.
  write_safetensors(folder / "model.safetensors", arrays, {{"format", "pt"}});
}

std::unique_ptr<Trainer> start_trainer(const std::filesystem::path& folder, const std::string& config,
                                       const WeightMap& weights, double dropout, std::size_t threads) {
  write_model(folder, config, weights, DType::kF32);
  TrainerOptions options;
  options.threads = threads;
  options.dropout = dropout;
  return make_trainer(find_weights(folder), options);
}

std::unique_ptr<Encoder> load_trained(const std::filesystem::path& folder, std::size_t threads) {
  return make_torch_encoder(find_weights(folder), {"cpu", threads});
}

std::unique_ptr<VisionModel> load_trained_vision(const std::filesystem::path& folder, std::size_t threads) {
  return make_torch_vision(find_weights(folder), {"cpu", threads});
}

std::vector<Tensor<float>> classify_trained(const std::filesystem::path& folder,
                                            const std::vector<std::vector<std::int32_t>>& texts, std::size_t threads) {
  std::vector<TextInput> inputs;
  for (const auto& ids : texts) inputs.push_back({{ids.begin(), ids.end()}, {}});
  return load_trained(folder, threads)->classify(inputs);
}

}  // namespace attnflow
