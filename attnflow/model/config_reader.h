// Reading single settings out of a config.json, with messages that name the key, what it may hold and what it holds.
// For .cc files of this module only: it brings the JSON library in.
#ifndef ATTNFLOW_MODEL_CONFIG_READER_H_
#define ATTNFLOW_MODEL_CONFIG_READER_H_

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/files/folder.h"
#include "attnflow/model/architecture.h"

namespace attnflow::internal {

// Far above any model, and low enough that products of two of them cannot overflow.
inline constexpr std::size_t kMaxConfigSize = std::size_t{1} << 30;
// A number of layers needs no bytes in the file where layers share weights, so it is bounded by itself.
inline constexpr std::size_t kMaxConfigLayers = 4096;

// A view of a JSON object, which must outlive it. Values of the wrong type or out of range throw Error(kBadFile).
class ConfigReader {
 public:
  ConfigReader(const nlohmann::json& object, std::string source);

  // Throw Error(kUnsupportedModel) and Error(kBadFile) whose message starts with the source.
  [[noreturn]] void unsupported(const std::string& message) const;
  [[noreturn]] void damaged(const std::string& message) const;
  // Error(kBadFile): expected `expected` as "key", found `found`.
  [[noreturn]] void wrong(std::string_view key, const std::string& expected, const nlohmann::json& found) const;

  const std::string& source() const { return source_; }
  const nlohmann::json& object() const { return object_; }

  // Null for a key that is absent or null, which mostly mean the same to transformers, and for an empty one.
  // "hidden_size|n_embed" is one key with two spellings.
  const nlohmann::json* find(std::string_view key) const;
  // Whether the key is there and null, where that is not the same as absent.
  bool says_null(std::string_view key) const;

  // A whole number from 1 to `max`; the key must be there.
  std::size_t size(std::string_view key, std::size_t max = kMaxConfigSize) const;
  std::size_t size_or(std::string_view key, std::size_t fallback, std::size_t max = kMaxConfigSize) const;
  // A whole number from 0 to `max`.
  std::size_t count_or(std::string_view key, std::size_t fallback, std::size_t max = kMaxConfigSize) const;
  // A token's id, of so many, which is the value of `key` or stands in it.
  std::size_t token_id(std::string_view key, const nlohmann::json& value, std::size_t vocabulary) const;
  bool flag_or(std::string_view key, bool fallback) const;
  std::string text_or(std::string_view key, std::string_view fallback) const;
  // A number in [low, high].
  double number_or(std::string_view key, double fallback, double low, double high) const;
  std::vector<std::string> texts(std::string_view key) const;  // none where the key is absent
  // [layers], which of them "layer_types" calls "sliding_attention" and not "full_attention"; none where it is absent.
  std::vector<bool> sliding_layers(std::size_t layers) const;
  // The names of classes, "id2label", in the order of its numbers; nothing where there are none.
  std::optional<std::vector<std::string>> labels() const;
  // Whether "problem_type" says that several classes may hold at once.
  bool multi_label() const;

  // Throws Error(kBadFile) that names all of `keys` that are not there; empty ones are passed over. `what` needs them.
  void require(std::string_view what, std::initializer_list<std::string_view> keys) const;
  // The activation named under `key`, or by `fallback`. Throws Error(kUnsupportedModel) for an unknown name.
  Activation activation(std::string_view key, std::string_view fallback) const;
  // Throws Error(kUnsupportedModel) where a setting has another value than the one that is understood.
  void refuse_other_values(std::span<const FixedSetting> settings) const;
  // Throws Error(kUnsupportedModel) for what no family runs: weights that are not plain floating-point numbers, heads
  // taken out, layers with settings of their own.
  void refuse_what_none_runs() const;
  // Throws Error(kUnsupportedModel) for decoders whose tokens see later ones: embedders made of decoders.
  void refuse_later_tokens() const;
  // Throws Error(kUnsupportedModel) for a model that is code of its own ("auto_map") under a name that is none of the
  // classes of transformers which `class_name` begins ("Bert"): what it computes is in that code alone.
  void refuse_own_code(std::string_view model_type, std::string_view class_name) const;

 private:
  const nlohmann::json& object_;
  std::string source_;
};

// Gives every setting that stands under another name its own, as transformers does: one that stood there goes.
void resolve_aliases(std::span<const KeyAlias> aliases, nlohmann::json& settings);

// "model_type" of the text of a config.json; empty where there is none. Throws Error(kBadFile): not JSON, or no text.
std::string model_type_of(std::string_view config, const std::string& source);

// The text of `folder`/config.json. Throws Error(kBadFile) when the folder or the file is missing.
std::string read_config_text(const Folder& folder);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_CONFIG_READER_H_
