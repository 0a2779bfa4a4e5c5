#include "attnflow/model/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "attnflow/base/parse_number.h"
#include "attnflow/files/extension.h"
#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/family_rows.h"
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

bool is_whole(const Json& value, std::size_t low, std::size_t max) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() >= low && value.get<std::uint64_t>() <= max;
}

void ConfigReader::refuse(const std::string& message) const {
  // Models that this program cannot run can still be explained.
  fail(ErrorKind::kUnsupportedModel,
       "{}: {}. Other ways: in Python, attnflow.explain(model, tokenizer, text) with the model loaded by transformers "
       "(docs/python.md); a decoder's GGUF file (--model FILE.gguf); or saved attention (attnflow explain --attention "
       "FILE.npz)",
       source(), message);
}

void ConfigReader::wrong(std::string_view key, const std::string& expected, const Json& found) const {
  damaged("expected {} as \"{}\", found {}", expected, spellings(key), show_json(found));
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

template <typename Value, typename Fits>
Value ConfigReader::value_or(std::string_view key, Value fallback, const std::string& expected,
                             const Fits& fits) const {
  const Json* const value = find(key);
  if (value == nullptr) return fallback;
  if (!fits(*value)) wrong(key, expected, *value);
  return value->get<Value>();
}

std::size_t ConfigReader::whole_or(std::string_view key, std::size_t fallback, std::size_t low, std::size_t max) const {
  return value_or(key, fallback, fmt::format("a whole number from {} to {}", low, max),
                  [&](const Json& value) { return is_whole(value, low, max); });
}

std::size_t ConfigReader::token_id(std::string_view key, const Json& value, std::size_t vocabulary) const {
  if (!is_whole(value, 0, vocabulary - 1)) wrong(key, fmt::format("a token's id from 0 to {}", vocabulary - 1), value);
  return value.get<std::size_t>();
}

bool ConfigReader::flag_or(std::string_view key, bool fallback) const {
  return value_or(key, fallback, "true or false", [](const Json& value) { return value.is_boolean(); });
}

std::string ConfigReader::text_or(std::string_view key, std::string_view fallback) const {
  return value_or(key, std::string(fallback), "a text", [](const Json& value) { return value.is_string(); });
}

double ConfigReader::number_or(std::string_view key, double fallback, double low, double high) const {
  return value_or(key, fallback, fmt::format("a number from {} to {}", low, high), [&](const Json& value) {
    return value.is_number() && value.get<double>() >= low && value.get<double>() <= high;
  });
}

std::vector<std::string> ConfigReader::texts(std::string_view key) const {
  return value_or(key, std::vector<std::string>(), "a list of strings", [](const Json& value) {
    return value.is_array() &&
           std::all_of(value.begin(), value.end(), [](const Json& text) { return text.is_string(); });
  });
}

void ConfigReader::expect_multiple(std::string_view key, std::size_t value, std::string_view of_key,
                                   std::size_t of) const {
  if (value % of != 0) damaged("expected {} to be a multiple of {}, found {} and {}", key, of_key, value, of);
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
    unsupported("{} names {}; supported are \"full_attention\" and \"sliding_attention\"", kKey, quote_name(type));
  }
  return sliding;
}

// The model orders labels numerically; JSON orders "10" before "2".
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
        "{} needs these keys, which are missing: {}. Use the config.json that was saved together with the "
        "weights",
        what, missing);
  }
}

Activation ConfigReader::activation(std::string_view key, std::string_view fallback) const {
  const std::string name = text_or(key, fallback);
  const std::optional<Activation> activation = find_activation(name);
  if (!activation) {
    unsupported("{} is {}; supported are {}", key, quote_name(name), activation_list());
  }
  return *activation;
}

void ConfigReader::refuse_other_values(std::span<const FixedSetting> settings) const {
  for (const FixedSetting& setting : settings) {
    const Json expected = Json::parse(setting.value);
    const Json* const found = find(setting.key);
    if (found == nullptr ? !setting.stated : *found == expected) continue;
    if (found != nullptr && expected.is_boolean() && !found->is_boolean()) wrong(setting.key, "true or false", *found);
    unsupported("{} is {}; supported is {}", setting.key, found == nullptr ? "missing" : show_json(*found),
                setting.value);
  }
}

void ConfigReader::refuse_later_tokens() const {
  constexpr std::string_view kKey = "is_causal";
  const bool is_null = says_null(kKey);  // which transformers treats as false
  if (!is_null && flag_or(kKey, true)) return;
  unsupported("{} is {}: tokens attend to later ones; supported are causal decoders (is_causal true)", kKey,
              is_null ? "null" : "false");
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

// Whether `name` is one of the family, such as "BertForMaskedLM" for "Bert".
bool is_class_of(std::string_view name, std::string_view family) {
  return name.starts_with(family) &&
         is_one_of(name.substr(family.size()), "Model", "LMHeadModel", "DoubleHeadsModel", "Backbone", "ForCausalLM",
                   "ForPreTraining", "ForMaskedLM", "ForNextSentencePrediction", "ForSequenceClassification",
                   "ForTokenClassification", "ForMultipleChoice", "ForQuestionAnswering", "ForImageClassification",
                   "ForImageClassificationWithTeacher", "ForMaskedImageModeling");
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
    unsupported(
        "auto_map is set and the model's class is {}, which is custom Python code and not the {} model "
        "of transformers, so attnflow does not know what it computes; supported are {}Model and the classes {}For*",
        quote_name(name), model_type, class_name, class_name);
  }
}

namespace {

// An adapter for another task than its base model's adds that task's head, so the model's class changes.
std::string config_for_adapter(const std::string& config, const Folder& folder) {
  std::string task;
  const std::optional<Adapter> adapter = find_adapter(*folder.adapter());
  for (const auto& [name, ending] : {std::pair("SEQ_CLS", "ForSequenceClassification"),
                                     {"TOKEN_CLS", "ForTokenClassification"},
                                     {"QUESTION_ANS", "ForQuestionAnswering"}}) {
    if (adapter && adapter->task == name) task = ending;
  }
  if (task.empty()) return config;
  Json json = parse_json_object(config, folder.label("config.json"));
  const auto classes = json.find("architectures");
  if (classes == json.end() || !classes->is_array() || classes->empty() || !classes->front().is_string()) return config;
  std::string name = classes->front().get<std::string>();
  if (name.ends_with(task)) return config;
  for (const std::string_view head : {"LMHeadModel", "DoubleHeadsModel"}) {  // GPT-2's classes
    if (name.ends_with(head)) name.replace(name.size() - head.size(), std::string::npos, "Model");
  }
  if (const std::size_t end = name.find("For"); end != std::string::npos) {
    name.resize(end);
  } else if (name.ends_with("Model")) {
    name.resize(name.size() - std::string_view("Model").size());
  }
  *classes = Json::array({name + task});
  for (const char* const labels : {"id2label", "label2id", "num_labels", "problem_type"}) json.erase(labels);
  return json.dump();
}

}  // namespace

void resolve_aliases(std::span<const KeyAlias> aliases, Json& settings) {
  for (const KeyAlias& one : aliases) {
    const auto found = settings.find(one.alias);
    if (found == settings.end()) continue;
    settings[std::string(one.key)] = Json(*found);
    settings.erase(one.alias);
  }
}

std::string model_type_of(std::string_view config, const std::string& source) {
  const Json json = parse_json_object(config, source);
  return ConfigReader(json, source).text_or("model_type", "");
}

namespace {

// The path of the folder's first GGUF file in alphabetical order, if it has any.
std::string first_gguf(const Folder& folder) {
  std::string first;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder.path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    if (lower_extension(path) == ".gguf" && (first.empty() || path < first)) first = path;
  }
  return first;
}

// Says what a folder without config.json has, and what to do.
std::string instead_of_config(const Folder& folder) {
  const std::optional<Adapter> adapter = find_adapter(folder);
  if (!adapter) {
    const std::string gguf = first_gguf(folder);
    return gguf.empty() ? "no config.json in it" : fmt::format("GGUF files; give one of them: --model {}", gguf);
  }
  constexpr const char* kAlone = "an adapter without its model (adapter_config.json)";
  const std::string found =
      adapter->base.empty() ? kAlone : fmt::format("{}, which is {}", kAlone, quote_name(adapter->base));
  if (!is_hub_name(adapter->base)) {
    return fmt::format("{}. Put the adapter's files into the folder of that model and give that folder", found);
  }
  return fmt::format(
      "{}. It is neither a folder nor in the Hub's cache: run 'hf download {}' (pip install huggingface_hub), then the "
      "same command again, or put the adapter's files into the folder of that model",
      found, adapter->base);
}

}  // namespace

std::string read_config_text(const Folder& folder) {
  constexpr const char* kConfig = "config.json";
  constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;
  if (!folder.exists()) {
    std::error_code ignored;
    const bool exists = std::filesystem::exists(folder.path(), ignored);
    fail(ErrorKind::kBadFile, "{}: expected a folder with config.json and model.safetensors, found {}", folder.label(),
         exists ? "a file; give the folder that holds it, or a GGUF file by a name "
                  "that ends in .gguf"
                : "nothing of that name");
  }
  if (!folder.has(kConfig)) {
    fail(ErrorKind::kBadFile, "{}: expected a Hugging Face model folder, found {}", folder.label(),
         instead_of_config(folder));
  }
  const std::string config = folder.read(kConfig, kMaxConfigBytes);
  return folder.adapter() == nullptr ? config : config_for_adapter(config, folder);
}

}  // namespace attnflow::internal
