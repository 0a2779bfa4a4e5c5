#include "attnflow/model/gguf_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "attnflow/attribution/note.h"
#include "attnflow/base/checked_size.h"
#include "attnflow/files/gguf.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/fail.h"

namespace attnflow {
namespace {

using internal::GgufArray;
using internal::GgufHeader;
using internal::GgufTensor;

class Settings {
 public:
  Settings(const GgufHeader& header, std::string file) : header_(header), file_(std::move(file)) {
    architecture_ = header.text("general.architecture").value_or("");
    if (architecture_.empty()) {
      internal::fail(ErrorKind::kBadFile, "{}: expected the name of an architecture (general.architecture), found none",
                     file_);
    }
  }

  const std::string& architecture() const { return architecture_; }

  std::size_t count(std::string_view key) const {
    const std::vector<std::size_t> found = counts(key);
    if (found.size() > 1) fail(key, "one number", "several");
    return found.empty() ? 0 : found.front();
  }

  // Returns one number for all layers, or one for each.
  std::vector<std::size_t> counts(std::string_view key) const {
    const std::string whole = architecture_ + "." + std::string(key);
    if (const auto one = header_.number(whole)) return {checked(key, *one)};
    const GgufArray* const several = header_.array(whole);
    if (several == nullptr) return {};
    if (several->numbers.size() != several->count) fail(key, "whole numbers", "something else");
    std::vector<std::size_t> found;
    for (const std::int64_t number : several->numbers) found.push_back(checked(key, number));
    if (std::adjacent_find(found.begin(), found.end(), std::not_equal_to<>()) == found.end()) {
      found.resize(std::min<std::size_t>(1, found.size()));
    }
    return found;
  }

  bool is_causal() const {
    const auto found = header_.metadata.find(architecture_ + ".attention.causal");
    const bool* const said = found == header_.metadata.end() ? nullptr : std::get_if<bool>(&found->second);
    return said == nullptr || *said;
  }

 private:
  std::size_t checked(std::string_view key, std::int64_t number) const {
    if (number < 0) fail(key, "a number of at least 0", std::to_string(number));
    return static_cast<std::size_t>(number);
  }

  [[noreturn]] void fail(std::string_view key, std::string_view expected, std::string_view found) const {
    internal::fail(ErrorKind::kBadFile, "{}: {}.{}: expected {}, found {}", file_, internal::quote_name(architecture_),
                   key, expected, found);
  }

  const GgufHeader& header_;
  std::string file_;
  std::string architecture_;
};

std::size_t numbers_in(const GgufTensor& tensor, const std::string& file) {
  const auto product = checked_product(tensor.extents);
  if (product) return *product;
  internal::fail(ErrorKind::kBadFile, "{}: tensor {}: expected fewer numbers than memory has addresses", file,
                 internal::quote_name(tensor.name));
}

// Mistral 7B v0.1 and its derivatives: by name, or by sizes combined with the rotation that later versions changed.
bool is_first_mistral(const GgufHeader& header) {
  constexpr double kTheta = 10000.0;
  const auto number = [&](std::string_view key) { return header.number("llama." + std::string(key)).value_or(0); };
  const auto theta = header.metadata.find("llama.rope.freq_base");
  if (theta != header.metadata.end()) {
    const double* const value = std::get_if<double>(&theta->second);
    if (value == nullptr || *value != kTheta) return false;
  }
  for (const char* key : {"general.name", "general.basename", "general.base_model.0.name"}) {
    std::string name = header.text(key).value_or("");
    std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    const std::string version =
        key == std::string_view("general.basename") ? header.text("general.version").value_or("") : std::string();
    if (name.find("mistral") != std::string::npos && (name + version).find("v0.1") != std::string::npos) return true;
  }
  return number("block_count") == 32 && number("embedding_length") == 4096 && number("feed_forward_length") == 14336 &&
         number("attention.head_count_kv") == 8 && number("context_length") == 32768;
}

bool has_window_left_out(const GgufHeader& header) {
  return header.text("general.architecture").value_or("") == "llama" &&
         header.number("llama.attention.sliding_window").value_or(0) == 0 && is_first_mistral(header);
}

std::vector<ModelNote> gguf_notes(const GgufHeader& header) {
  constexpr std::size_t kWindow = 4096;
  std::vector<ModelNote> notes;
  if (has_window_left_out(header)) notes.push_back({Note{NoteCode::kWindowNotApplied, {{"window", kWindow}}}, kWindow});
  const std::string rule = header.text("tokenizer.ggml.pre").value_or("");
  if (header.text("tokenizer.ggml.model").value_or("") == "gpt2" && (rule.empty() || rule == "default")) {
    const char* const found = rule.empty() ? "missing" : "\"default\"";
    notes.push_back({Note{NoteCode::kPreTokenizerUnknown, {{"found", found}}}});
  }
  return notes;
}

// Returns the file's settings for generation under their own keys, except for transformers' "suppress_tokens".
GenerationDefaults gguf_generation(const GgufHeader& header) {
  constexpr std::string_view kSampling = "general.sampling.";
  nlohmann::json said = nlohmann::json::object();
  for (const auto& [key, value] : header.metadata) {
    if (!key.starts_with(kSampling)) continue;
    if (const auto* const whole = std::get_if<std::int64_t>(&value)) said[key] = *whole;
    // Six digits, because the value was a float32: 0.6, not 0.60000002384.
    if (const auto* const real = std::get_if<double>(&value))
      said[key] = std::strtod(fmt::format("{:.6g}", *real).c_str(), nullptr);
  }
  const GgufArray* const suppressed = header.array("tokenizer.ggml.suppress_tokens");
  if (suppressed != nullptr && !suppressed->numbers.empty()) said["suppress_tokens"] = suppressed->numbers;
  if (said.empty()) return {};
  return {.text = said.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), .file = "the GGUF file"};
}

}  // namespace

GgufFile read_gguf_file(const std::filesystem::path& file) { return describe_gguf(file, internal::read_gguf(file)); }

GgufFile describe_gguf(const std::filesystem::path& file, GgufHeader header) {
  const GgufInfo found = gguf_info(file, header);
  ModelInfo info;
  info.name = file.stem().string();  // users recognize the file name; the name inside may be that of a training run
  info.architecture = found.architecture;
  info.layers = found.layers;
  info.heads = found.heads.empty() ? 0 : found.heads.front();
  info.max_tokens = found.context;
  info.causal = true;
  info.head = ModelHead::kCausalLm;
  info.notes = found.notes;
  info.generation = gguf_generation(header);
  return {file, std::move(header), std::move(info)};
}

GgufInfo gguf_info(const std::filesystem::path& file, const GgufHeader& header) {
  const Settings settings(header, file.string());
  GgufInfo info;
  info.name = header.text("general.name").value_or("");
  if (info.name.empty()) info.name = file.stem().string();
  info.architecture = settings.architecture();
  info.layers = settings.count("block_count");
  info.heads = settings.counts("attention.head_count");
  info.key_value_heads = settings.counts("attention.head_count_kv");
  if (info.key_value_heads.empty()) info.key_value_heads = info.heads;
  info.hidden = settings.count("embedding_length");
  info.context = settings.count("context_length");
  info.sliding_window = settings.count("attention.sliding_window");
  info.causal = settings.is_causal();
  const GgufArray* const tokens = header.array("tokenizer.ggml.tokens");
  info.vocabulary = tokens == nullptr ? settings.count("vocab_size") : tokens->count;
  info.tokenizer = header.text("tokenizer.ggml.model").value_or("");
  info.chat_template = !header.text("tokenizer.chat_template").value_or("").empty();
  info.licence = header.text("general.license").value_or("");
  info.notes = gguf_notes(header);
  info.bytes = std::filesystem::file_size(file);
  for (const GgufTensor& tensor : header.tensors) {
    const auto block = internal::gguf_block(tensor.type);
    const std::string type = block ? std::string(block->name) : fmt::format("type {}", tensor.type);
    auto found = std::find_if(info.storage.begin(), info.storage.end(),
                              [&](const GgufStorage& storage) { return storage.type == type; });
    if (found == info.storage.end()) found = info.storage.insert(found, {type, 0, 0});
    const std::size_t numbers = numbers_in(tensor, file.string());
    ++found->tensors;
    found->numbers += numbers;
    info.parameters += numbers;
  }
  std::stable_sort(info.storage.begin(), info.storage.end(),
                   [](const GgufStorage& a, const GgufStorage& b) { return a.numbers > b.numbers; });
  return info;
}

std::string storage_text(const GgufInfo& info) {
  std::vector<std::string> parts;
  for (const GgufStorage& storage : info.storage) {
    const double share =
        100.0 * static_cast<double>(storage.numbers) / static_cast<double>(std::max<std::size_t>(1, info.parameters));
    parts.push_back(fmt::format("{} ({} tensor{}, {}% of the numbers)", storage.type, storage.tensors,
                                storage.tensors == 1 ? "" : "s",
                                share < 0.05 ? std::string("under 0.1") : fmt::format("{:.1f}", share)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace attnflow
