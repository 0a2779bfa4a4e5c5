#include "attnflow/model/encoder_decoder_weights.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/config_reader.h"
#include "attnflow/model/decoder_stack.h"
#include "attnflow/model/generation_rules.h"
#include "attnflow/model/lora.h"

namespace attnflow {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kStart = "decoder_start_token_id";
constexpr std::string_view kForced = "forced_bos_token_id";
constexpr std::string_view kNever = "bad_words_ids";

void refuse_encoder_decoder_variants(const internal::ConfigReader& reader,
                                     const EncoderDecoderArchitecture& architecture) {
  reader.refuse_what_none_runs();
  reader.refuse_later_tokens();
  reader.refuse_own_code(architecture.model_type, architecture.class_name);
  if (!reader.flag_or("share_encoder_decoder_embeddings", true)) {
    reader.unsupported(
        "share_encoder_decoder_embeddings is false: source and target have vocabularies of their own; supported "
        "are models with one for both");
  }
  constexpr std::array<std::string_view, 3> kHeads = {"ForConditionalGeneration", "MTModel", "WithLMHeadModel"};
  for (const std::string& name : reader.texts("architectures")) {
    const bool writes = std::any_of(kHeads.begin(), kHeads.end(), [&](std::string_view head) {
      return name == std::string(architecture.class_name) + std::string(head);
    });
    if (writes) continue;
    // Its decoder is given the same text as its encoder.
    constexpr const char* kWayOfClassifiers =
        "; to explain a class, call attnflow.explain(model, tokenizer, text, target_text=text) in Python";
    reader.unsupported(
        "architectures names {}; of this model type only models that generate text are supported "
        "({}ForConditionalGeneration or {}MTModel){}",
        internal::quote_name(name), architecture.class_name, architecture.class_name,
        name.ends_with("ForSequenceClassification") ? kWayOfClassifiers : "");
  }
}

// Reads ids. Those in generation_config.json take precedence.
struct SpecialIds {
  const internal::ConfigReader* generation = nullptr;  // null if there is no such file
  const internal::ConfigReader& config;
  std::size_t vocabulary = 0;

  const internal::ConfigReader& reader_of(std::string_view key) const {
    return generation != nullptr && generation->find(key) != nullptr ? *generation : config;
  }
  std::optional<std::int64_t> find(std::string_view key) const {
    const internal::ConfigReader& reader = reader_of(key);
    const Json* const value = reader.find(key);
    if (value == nullptr) return std::nullopt;
    return static_cast<std::int64_t>(reader.token_id(key, *value, vocabulary));
  }
};

std::vector<std::int64_t> read_begin(const SpecialIds& ids) {
  std::vector<std::int64_t> begin;
  auto start = ids.find(kStart);
  if (!start) start = ids.find("bos_token_id");  // as transformers does
  if (!start) {
    ids.config.damaged(
        "expected \"{}\", the token that a target begins with, here or in "
        "generation_config.json, found none; add the one that the model was trained with",
        kStart);
  }
  begin.push_back(*start);
  if (const auto forced = ids.find(kForced)) begin.push_back(*forced);
  return begin;
}

// Reads single-token words. Longer ones depend on the tokens before them and are left to transformers, as are beams.
std::vector<std::int64_t> read_never(const SpecialIds& ids) {
  const internal::ConfigReader& reader = ids.reader_of(kNever);
  std::vector<std::int64_t> never;
  const Json* const words = reader.find(kNever);
  if (words == nullptr) return never;
  if (!words->is_array()) reader.wrong(kNever, "a list of lists of ids", *words);
  for (const Json& word : *words) {
    if (!word.is_array()) reader.wrong(kNever, "a list of lists of ids", word);
    if (word.size() == 1) never.push_back(static_cast<std::int64_t>(reader.token_id(kNever, word[0], ids.vocabulary)));
  }
  return never;
}

}  // namespace

EncoderDecoderConfig parse_encoder_decoder_config(std::string_view text, const std::string& source,
                                                  std::string_view generation, const std::string& generation_source) {
  Json json = internal::parse_json_object(text, source);
  const internal::ConfigReader reader(json, source);
  const std::string type = reader.text_or("model_type", "");
  EncoderDecoderConfig config;
  config.architecture = find_encoder_decoder_architecture(type);
  if (config.architecture == nullptr) {
    reader.unsupported("model_type is {}; expected an encoder-decoder: {}", internal::quote_name(type),
                       encoder_decoder_architecture_list());
  }
  internal::resolve_aliases(config.architecture->aliases, json);
  refuse_encoder_decoder_variants(reader, *config.architecture);
  config.encoder = internal::read_stack(reader, config.architecture->encoder);
  config.decoder = internal::read_stack(reader, config.architecture->decoder);
  config.decoder.buckets.causal = true;

  const Json beside = generation.empty() ? Json::object() : internal::parse_json_object(generation, generation_source);
  const internal::ConfigReader beside_reader(beside, generation_source);
  const SpecialIds ids = {generation.empty() ? nullptr : &beside_reader, reader, config.decoder.vocabulary};
  config.begin = read_begin(ids);
  config.never = read_never(ids);
  if (config.begin.size() > config.decoder.positions) {
    reader.damaged("expected positions for the {} tokens that a target begins with, found {}", config.begin.size(),
                   config.decoder.positions);
  }
  return config;
}

EncoderDecoderConfig read_encoder_decoder_config(const Folder& folder) {
  constexpr const char* kGeneration = "generation_config.json";
  constexpr std::size_t kMaxGenerationBytes = std::size_t{1} << 20;
  const std::string generation = folder.has(kGeneration) ? folder.read(kGeneration, kMaxGenerationBytes) : "";
  return parse_encoder_decoder_config(internal::read_config_text(folder), folder.label("config.json"), generation,
                                      folder.label(kGeneration));
}

EncoderDecoderWeights find_encoder_decoder_weights(const Folder& folder, const EncoderDecoderConfig& config,
                                                   const OpenOptions& options) {
  EncoderDecoderWeights weights;
  weights.config = config;
  weights.encoder.config = config.encoder;
  weights.decoder.config = config.decoder;
  const auto checkpoint = std::make_shared<const Checkpoint>(folder);
  weights.checkpoint = checkpoint;

  const EncoderDecoderArchitecture& row = *config.architecture;
  internal::TensorFinder finder(*checkpoint, row.model_type);
  internal::find_stack(finder, row.encoder.prefix, weights.encoder);
  internal::find_stack(finder, row.decoder.prefix, weights.decoder);
  finder.throw_if_missing();
  const std::size_t layers = config.encoder.layers + config.decoder.layers;
  if (!options.allow_unused_weights) finder.throw_if_unused(row.prefix, {"encoder.", "decoder."}, layers);

  ModelInfo& info = weights.info;
  info.name = folder.name();
  info.notes = adapter_notes(folder);
  info.generation = read_generation_defaults(folder);
  info.architecture = row.model_type;
  info.layers = config.encoder.layers + 2 * config.decoder.layers;
  info.heads = std::min(config.encoder.heads, config.decoder.heads);
  info.hidden = config.encoder.hidden;
  info.vocabulary = config.encoder.vocabulary;
  info.max_tokens = config.encoder.positions;
  info.norms_after = row.encoder.norm_place == NormPlace::kAfter;
  info.head = ModelHead::kCausalLm;
  info.parameters = checkpoint->parameters();
  info.target = TargetInfo{.begin = config.begin,
                           .max_tokens = config.decoder.positions,
                           .encoder_layers = config.encoder.layers,
                           .decoder_layers = config.decoder.layers};
  return weights;
}

}  // namespace attnflow
