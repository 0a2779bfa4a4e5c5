#include "attnflow/model/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "attnflow/base/parse_number.h"
#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/hub_cache.h"
#include "attnflow/model/lora.h"

namespace attnflow::internal {

using Json = nlohmann::json;

namespace {

// Formats a key for messages: "hidden_size or n_embed".
std::string spellings(std::string_view key) {
  const std::size_t bar = key.find('|');
  if (bar == std::string_view::npos) return std::string(key);
  return fmt::format("{} or {}", key.substr(0, bar), spellings(key.substr(bar + 1)));
}

}  // namespace

ConfigReader::ConfigReader(const Json& object, std::string source) : object_(object), source_(std::move(source)) {}

void ConfigReader::unsupported(const std::string& message) const {
  // Models that this program cannot run can still be explained.
  constexpr const char* kOtherWays =
      ". Other ways: in Python, attnflow.explain(model, tokenizer, text) with the model loaded by transformers "
      "(docs/python.md); a decoder's GGUF file (--model FILE.gguf); or saved attention (attnflow explain --attention "
      "FILE.npz)";
  throw Error(ErrorKind::kUnsupportedModel, source_ + ": " + message + kOtherWays);
}

void ConfigReader::damaged(const std::string& message) const {
  throw Error(ErrorKind::kBadFile, source_ + ": " + message);
}

void ConfigReader::wrong(std::string_view key, const std::string& expected, const Json& found) const {
  damaged(fmt::format("expected {} as \"{}\", found {}", expected, spellings(key), show_json(found)));
}

const Json* ConfigReader::find(std::string_view key) const {
  while (!key.empty()) {
    const std::size_t bar = key.find('|');
    const auto found = object_.find(key.substr(0, bar));
    if (found != object_.end() && !found->is_null()) return &*found;
    key.remove_prefix(bar == std::string_view::npos ? key.size() : bar + 1);
  }
  return nullptr;
}

bool ConfigReader::says_null(std::string_view key) const {
  const auto found = object_.find(key);
  return found != object_.end() && found->is_null();
}

std::size_t ConfigReader::size(std::string_view key, std::size_t max) const {
  const Json& value = *find(key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 || value.get<std::uint64_t>() > max) {
    wrong(key, fmt::format("a whole number from 1 to {}", max), value);
  }
  return value.get<std::size_t>();
}

std::size_t ConfigReader::size_or(std::string_view key, std::size_t fallback, std::size_t max) const {
  return find(key) == nullptr ? fallback : size(key, max);
}

std::size_t ConfigReader::count_or(std::string_view key, std::size_t fallback, std::size_t max) const {
  const Json* const value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() > max) {
    wrong(key, fmt::format("a whole number from 0 to {}", max), *value);
  }
  return value->get<std::size_t>();
}

std::size_t ConfigReader::token_id(std::string_view key, const Json& value, std::size_t vocabulary) const {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= vocabulary) {
    wrong(key, fmt::format("a token's id from 0 to {}", vocabulary - 1), value);
  }
  return value.get<std::size_t>();
}

bool ConfigReader::flag_or(std::string_view key, bool fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) wrong(key, "true or false", *value);
  return value->get<bool>();
}

std::string ConfigReader::text_or(std::string_view key, std::string_view fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) wrong(key, "a text", *value);
  return value->get<std::string>();
}

double ConfigReader::number_or(std::string_view key, double fallback, double low, double high) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  const bool fits = value->is_number() && value->get<double>() >= low && value->get<double>() <= high;
  if (!fits) wrong(key, fmt::format("a number from {} to {}", low, high), *value);
  return value->get<double>();
}

std::vector<std::string> ConfigReader::texts(std::string_view key) const {
  std::vector<std::string> list;
  const Json* value = find(key);
  if (value == nullptr) return list;
  if (!value->is_array()) wrong(key, "a list of strings", *value);
  for (const Json& text : *value) {
    if (!text.is_string()) wrong(key, "a list of strings", *value);
    list.push_back(text.get<std::string>());
  }
  return list;
}

std::vector<bool> ConfigReader::sliding_layers(std::size_t layers) const {
  constexpr std::string_view kKey = "layer_types";
  const std::vector<std::string> types = texts(kKey);
  if (!types.empty() && types.size() != layers) {
    wrong(kKey, fmt::format("as many names as there are layers, {},", layers), types.size());
  }
  std::vector<bool> sliding;
  for (const std::string& type : types) {
    sliding.push_back(type == "sliding_attention");
    if (sliding.back() || type == "full_attention") continue;
    unsupported(
        fmt::format("{} names {}; supported are \"full_attention\" and \"sliding_attention\"", kKey, quote_name(type)));
  }
  return sliding;
}

// {"0": "negative", "1": "positive"}: JSON orders "10" before "2", the model orders numerically.
std::optional<std::vector<std::string>> ConfigReader::labels() const {
  constexpr std::string_view kKey = "id2label";
  const Json* const value = find(kKey);
  if (value == nullptr) return std::nullopt;
  const std::string expected = "an object with the keys \"0\", \"1\", ... and texts";
  if (!value->is_object() || value->empty()) wrong(kKey, expected, *value);
  std::vector<std::string> labels(value->size());
  std::vector<bool> seen(value->size(), false);
  for (const auto& [key, label] : value->items()) {
    const std::optional<std::size_t> index = internal::parse_number(key);
    if (!index || *index >= labels.size() || seen[*index] || !label.is_string()) wrong(kKey, expected, *value);
    seen[*index] = true;
    labels[*index] = label.get<std::string>();
  }
  return labels;
}

bool ConfigReader::multi_label() const { return text_or("problem_type", "") == "multi_label_classification"; }

void ConfigReader::require(std::string_view what, std::initializer_list<std::string_view> keys) const {
  std::string missing;
  for (const std::string_view key : keys) {
    if (key.empty() || find(key) != nullptr) continue;
    if (!missing.empty()) missing += ", ";
    missing += spellings(key);
  }
  if (!missing.empty()) {
    damaged(
        fmt::format("{} needs these keys, which are missing: {}. Use the config.json that was saved together with the "
                    "weights",
                    what, missing));
  }
}

Activation ConfigReader::activation(std::string_view key, std::string_view fallback) const {
  const std::string name = text_or(key, fallback);
  const std::optional<Activation> activation = find_activation(name);
  if (!activation) {
    unsupported(fmt::format("{} is {}; supported are {}", key, quote_name(name), activation_list()));
  }
  return *activation;
}

void ConfigReader::refuse_other_values(std::span<const FixedSetting> settings) const {
  for (const FixedSetting& setting : settings) {
    const Json expected = Json::parse(setting.value);
    const Json* const found = find(setting.key);
    if (found == nullptr ? !setting.stated : *found == expected) continue;
    if (found != nullptr && expected.is_boolean() && !found->is_boolean()) wrong(setting.key, "true or false", *found);
    unsupported(fmt::format("{} is {}; supported is {}", setting.key, found == nullptr ? "missing" : show_json(*found),
                            setting.value));
  }
}

void ConfigReader::refuse_later_tokens() const {
  constexpr std::string_view kKey = "is_causal";
  const bool is_null = says_null(kKey);  // which transformers treats as false
  if (!is_null && flag_or(kKey, true)) return;
  unsupported(fmt::format("{} is {}: tokens attend to later ones; supported are causal decoders (is_causal true)", kKey,
                          is_null ? "null" : "false"));
}

void ConfigReader::refuse_what_none_runs() const {
  if (const Json* pruned = find("pruned_heads"); pruned != nullptr && !pruned->empty()) {
    unsupported("pruned_heads is not empty; supported are models whose layers all have the same number of heads");
  }
  if (const Json* const own = find("per_layer_config"); own != nullptr && !own->empty()) {
    unsupported("per_layer_config gives layers settings of their own; supported are models whose layers are all alike");
  }
  if (find("quantization_config") != nullptr) {
    unsupported(
        "quantization_config is set; supported are weights in float32, float16 and bfloat16: use the model's "
        "unquantized files");
  }
}

namespace {

// "BertModel", "BertForMaskedLM", "GPT2LMHeadModel": a class of the family "Bert" or "GPT2".
bool is_class_of(std::string_view name, std::string_view family) {
  constexpr std::array<std::string_view, 15> kEndings = {"Model",
                                                         "LMHeadModel",
                                                         "DoubleHeadsModel",
                                                         "Backbone",
                                                         "ForCausalLM",
                                                         "ForPreTraining",
                                                         "ForMaskedLM",
                                                         "ForNextSentencePrediction",
                                                         "ForSequenceClassification",
                                                         "ForTokenClassification",
                                                         "ForMultipleChoice",
                                                         "ForQuestionAnswering",
                                                         "ForImageClassification",
                                                         "ForImageClassificationWithTeacher",
                                                         "ForMaskedImageModeling"};
  if (!name.starts_with(family)) return false;
  return std::find(kEndings.begin(), kEndings.end(), name.substr(family.size())) != kEndings.end();
}

}  // namespace

void ConfigReader::refuse_own_code(std::string_view model_type, std::string_view class_name) const {
  constexpr std::string_view kKey = "auto_map";
  const Json* const map = find(kKey);
  if (map == nullptr) return;
  if (!map->is_object()) wrong(kKey, "an object", *map);
  if (map->empty()) return;
  std::vector<std::string> classes = texts("architectures");
  for (const auto& [key, value] : map->items()) {
    // "modeling_file.Class", or "owner/name--modeling_file.Class".
    if (!key.starts_with("AutoModel") || !value.is_string()) continue;
    const auto& text = value.get_ref<const std::string&>();
    classes.push_back(text.substr(text.rfind('.') + 1));
  }
  for (const std::string& name : classes) {
    if (is_class_of(name, class_name)) continue;
    unsupported(fmt::format(
        "auto_map is set and the model's class is {}, which is custom Python code and not the {} model "
        "of transformers, so attnflow does not know what it computes; supported are {}Model and the classes {}For*",
        quote_name(name), model_type, class_name, class_name));
  }
}

namespace {

// An adapter for another task than its base model's adds the head for that task, so the class of the model changes.
std::string config_for_adapter(const std::string& config, const Folder& folder) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTasks = {
      {{"SEQ_CLS", "ForSequenceClassification"},
       {"TOKEN_CLS", "ForTokenClassification"},
       {"QUESTION_ANS", "ForQuestionAnswering"}}};
  const std::optional<Adapter> adapter = find_adapter(*folder.adapter());
  const auto task = std::find_if(kTasks.begin(), kTasks.end(),
                                 [&](const auto& one) { return adapter && one.first == adapter->task; });
  if (task == kTasks.end()) return config;
  nlohmann::json json = parse_json_object(config, folder.label("config.json"));
  const auto classes = json.find("architectures");
  if (classes == json.end() || !classes->is_array() || classes->empty() || !classes->front().is_string()) return config;
  std::string name = classes->front().get<std::string>();
  if (name.ends_with(task->second)) return config;
  for (const std::string_view head : {"LMHeadModel", "DoubleHeadsModel"}) {  // GPT-2's classes
    if (name.ends_with(head)) name.replace(name.size() - head.size(), std::string::npos, "Model");
  }
  if (const std::size_t end = name.find("For"); end != std::string::npos) {
    name.resize(end);
  } else if (name.ends_with("Model")) {
    name.resize(name.size() - std::string_view("Model").size());
  }
  *classes = nlohmann::json::array({name + std::string(task->second)});
  for (const char* const labels : {"id2label", "label2id", "num_labels", "problem_type"}) json.erase(labels);
  return json.dump();
}

}  // namespace

void resolve_aliases(std::span<const KeyAlias> aliases, Json& settings) {
  for (const KeyAlias& one : aliases) {
    const auto found = settings.find(one.alias);
    if (found == settings.end()) continue;
    Json value = std::move(*found);
    settings.erase(found);
    settings[std::string(one.key)] = std::move(value);
  }
}

std::string model_type_of(std::string_view config, const std::string& source) {
  const Json json = parse_json_object(config, source);
  return ConfigReader(json, source).text_or("model_type", "");
}

std::string read_config_text(const Folder& folder) {
  constexpr const char* kConfig = "config.json";
  constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;
  if (!folder.exists()) {
    std::error_code ignored;
    const bool exists = std::filesystem::exists(folder.path(), ignored);
    throw Error(ErrorKind::kBadFile,
                fmt::format("{}: expected a folder with config.json and model.safetensors, found {}", folder.label(),
                            exists ? "a file; give the folder that holds it, or a GGUF file by a name "
                                     "that ends in .gguf"
                                   : "nothing of that name"));
  }
  if (!folder.has(kConfig)) {
    const std::optional<Adapter> adapter = find_adapter(folder);
    const std::string found =
        !adapter ? std::string("no config.json in it")
        : adapter->base.empty()
            ? std::string("an adapter without its model (adapter_config.json)")
            : fmt::format("an adapter without its model (adapter_config.json), which is {}", quote_name(adapter->base));
    const std::string advice =
        !adapter ? ""
        : is_hub_name(adapter->base)
            ? fmt::format(
                  ". It is neither a folder nor in the Hub's cache: run 'hf download {}' (pip install "
                  "huggingface_hub), then the same command again, or put the adapter's files into the folder "
                  "of that model",
                  adapter->base)
            : ". Put the adapter's files into the folder of that model and give that folder";
    throw Error(ErrorKind::kBadFile,
                fmt::format("{}: expected a Hugging Face model folder, found {}{}", folder.label(), found, advice));
  }
  const std::string config = folder.read(kConfig, kMaxConfigBytes);
  return folder.adapter() == nullptr ? config : config_for_adapter(config, folder);
}

}  // namespace attnflow::internal
