// Reads individual settings from a config.json. Error messages name the key, its valid values and the value found.
// Include only in .cc files of this module: this header includes the JSON library.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/model/architecture.h"
#include "attnflow/model/fail.h"

namespace attnflow::internal {

// Far above any model, and low enough that the product of two such sizes cannot overflow.
inline constexpr std::size_t kMaxConfigSize = std::size_t{1} << 30;
// Layers that share weights take no bytes in the file, so the number of layers needs its own limit.
inline constexpr std::size_t kMaxConfigLayers = 4096;

bool is_whole(const nlohmann::json& value, std::size_t low, std::size_t max);

// A view of a JSON object, which must outlive it. Values of the wrong type or out of range throw Error(kBadFile).
class ConfigReader : public ErrorsOf {
 public:
  ConfigReader(const nlohmann::json& object, const std::string& source) : ErrorsOf(source), object_(object) {}

  // Throws Error(kUnsupportedModel) with a message that begins with the source and ends with other ways of explaining.
  template <typename... Values>
  [[noreturn]] void unsupported(fmt::format_string<Values...> message, Values&&... values) const {
    refuse(fmt::format(message, std::forward<Values>(values)...));
  }
  // Error(kBadFile): expected `expected` as "key", found `found`.
  [[noreturn]] void wrong(std::string_view key, const std::string& expected, const nlohmann::json& found) const;

  const nlohmann::json& object() const { return object_; }

  // Returns null for a key that is absent or null, which usually mean the same to transformers, and for an empty key.
  // "hidden_size|n_embed" is one key with two spellings.
  const nlohmann::json* find(std::string_view key) const;
  // Whether the key is present and null, for settings where that differs from absent.
  bool says_null(std::string_view key) const;

  // A whole number from 1 to `max`; the key must be present.
  std::size_t size(std::string_view key, std::size_t max = kMaxConfigSize) const { return size_or(key, 0, max); }
  std::size_t size_or(std::string_view key, std::size_t fallback, std::size_t max = kMaxConfigSize) const {
    return whole_or(key, fallback, 1, max);
  }
  std::size_t count_or(std::string_view key, std::size_t fallback, std::size_t max = kMaxConfigSize) const {
    return whole_or(key, fallback, 0, max);
  }
  // Returns a token id below `vocabulary`, given as the value of `key` or as part of it.
  std::size_t token_id(std::string_view key, const nlohmann::json& value, std::size_t vocabulary) const;
  bool flag_or(std::string_view key, bool fallback) const;
  std::string text_or(std::string_view key, std::string_view fallback) const;
  double number_or(std::string_view key, double fallback, double low, double high) const;
  std::vector<std::string> texts(std::string_view key) const;  // empty if the key is absent
  // [layers]: true for "sliding_attention" in "layer_types", false for "full_attention"; empty if absent.
  std::vector<bool> sliding_layers(std::size_t layers) const;
  // The class names, "id2label", in numerical order; nothing if there are none.
  std::optional<std::vector<std::string>> labels() const;
  // Whether "problem_type" allows several classes at once.
  bool multi_label() const;

  // Throws Error(kBadFile) unless `value`, that of `key`, is a multiple of `of`, that of `of_key`.
  void expect_multiple(std::string_view key, std::size_t value, std::string_view of_key, std::size_t of) const;
  // Throws Error(kBadFile) that names all absent `keys`, required by `what`; empty keys are skipped.
  void require(std::string_view what, std::initializer_list<std::string_view> keys) const;
  // The activation named under `key`, or `fallback`. Throws Error(kUnsupportedModel) for an unknown name.
  Activation activation(std::string_view key, std::string_view fallback) const;
  // Throws Error(kUnsupportedModel) if a setting has a value other than the supported one.
  void refuse_other_values(std::span<const FixedSetting> settings) const;
  // Throws Error(kUnsupportedModel) for features that no architecture supports: weights that are not plain
  // floating-point numbers, removed heads, layers with their own settings.
  void refuse_what_none_runs() const;
  // Throws Error(kUnsupportedModel) for decoders whose tokens see later ones: embedding models made from decoders.
  void refuse_later_tokens() const;
  // Throws Error(kUnsupportedModel) for a model whose computation only custom code ("auto_map") defines: its class is
  // not one of transformers' classes that begin with `class_name` ("Bert").
  void refuse_own_code(std::string_view model_type, std::string_view class_name) const;

 private:
  [[noreturn]] void refuse(const std::string& message) const;
  template <typename Value, typename Fits>
  Value value_or(std::string_view key, Value fallback, const std::string& expected, const Fits& fits) const;
  std::size_t whole_or(std::string_view key, std::size_t fallback, std::size_t low, std::size_t max) const;

  const nlohmann::json& object_;
};

// Moves every setting with an alias to its own name, as transformers does, replacing a value already there.
void resolve_aliases(std::span<const KeyAlias> aliases, nlohmann::json& settings);

// Returns "model_type" from the text of a config.json; empty if absent. Throws Error(kBadFile): not JSON, or not text.
std::string model_type_of(std::string_view config, const std::string& source);

// Returns the text of `folder`/config.json. Throws Error(kBadFile) when the folder or the file is missing.
std::string read_config_text(const Folder& folder);

}  // namespace attnflow::internal
