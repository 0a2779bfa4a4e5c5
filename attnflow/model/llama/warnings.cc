#include "attnflow/model/llama/warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>

#include "attnflow/attribution/note.h"
#include "attnflow/base/parse_number.h"
#include "attnflow/files/messages.h"

namespace attnflow {
namespace {

constexpr std::size_t kMaxListed = 8;   // names in a note
constexpr std::size_t kMaxOthers = 16;  // warnings without a known wording

// A warning about something that changes neither tokens nor numbers here, and why.
struct Dropped {
  std::string_view part;
  std::string_view because;
};
constexpr std::array kDropped = {
    Dropped{"missing pre-tokenizer type", "the note pre-tokenizer-unknown says so, also of \"default\""},
    Dropped{"GENERATION QUALITY WILL BE DEGRADED", "the same"},
    Dropped{"CONSIDER REGENERATING THE MODEL", "the same"},
    Dropped{"special_eos_id is not in special_eog_ids", "it ends a text all the same; ordinary tokens are noted"},
    Dropped{"special_eot_id is not in special_eog_ids", "the same"},
    Dropped{"special_eom_id is not in special_eog_ids", "the same"},
    Dropped{"special_eog_ids contains both", "how tokens end a text in every model of that family"},
    Dropped{"is a normal token here, removing it from EOG list", "the same"},
    Dropped{"attribute to USER_DEFINED", "which of its tokens the library prints; ids stay as they are"},
    Dropped{"out of vocab range, disabling", "a token that the file does not name is not used"},
    Dropped{"Added a BOS token to the prompt", "the note special-token-twice says so"},
    Dropped{"Added a EOS token to the prompt", "the same"},
    Dropped{"newline token", "only infilling asks for it"},
    Dropped{"Phi SWA is currently disabled", "the note window-ignored says so"},
    Dropped{"possible training context overflow", "the context is rounded up; longer texts are refused"},
    Dropped{"using full-size SWA cache", "asked for: all positions are kept and masked"},
    Dropped{"padding V cache", "memory"},
    Dropped{"model default pooling_type", "asked for: every position is kept"},
    Dropped{"setting new yarn_attn_factor", "as the file says it"},
    Dropped{"flash_attn is not compatible", "switched off already"},
    Dropped{"graph reuse disabled", "speed"},
    Dropped{"compute buffer", "memory"},
    Dropped{"is assigned to device", "speed"},
    Dropped{"mmap is not", "speed and memory"},
    Dropped{"mlock", "memory"},
    Dropped{"munlock", "memory"},
    Dropped{"munmap failed", "memory"},
    Dropped{"posix_fadvise", "speed"},
    Dropped{"madvise(", "speed"},
    Dropped{"Falling back to buffered", "speed"},
    Dropped{"unknown type", "only a name for the file's quantization is missing"},
};

std::string_view without_function(std::string_view message) {
  std::size_t colon = message.find(": ");
  if (colon == std::string_view::npos && message.ends_with(':')) colon = message.size() - 1;  // an empty line
  if (colon == std::string_view::npos) return message;
  const bool is_name = std::all_of(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(colon), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':' || c == '~';
  });
  return is_name ? message.substr(std::min(colon + 2, message.size())) : message;
}

std::optional<std::string> between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(begin + before.size());
  const std::size_t end = rest.find(after);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(rest.substr(0, end));
}

std::string piece_of(const llama_vocab* vocabulary, llama_token id) {
  const char* const text = id < 0 ? nullptr : llama_vocab_get_text(vocabulary, id);
  return text == nullptr ? "" : internal::quote_name(text);
}

ModelNote doubtful(std::string_view key, std::string problem, const llama_vocab* vocabulary, llama_token id) {
  NoteValues values = {{"key", std::string(key)}, {"problem", std::move(problem)}, {"token", piece_of(vocabulary, id)}};
  if (id >= 0) values.emplace("id", static_cast<std::size_t>(id));
  return {Note{NoteCode::kSpecialTokenDoubtful, std::move(values)}};
}

bool says_none(std::string_view number) { return number == "4294967295" || number == "-1"; }

}  // namespace

void LlamaWarnings::add(std::string_view message) {
  const std::string_view text = without_function(message);
  const auto contains = [text](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (std::none_of(text.begin(), text.end(), [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; })) {
    return;  // the frame of a box
  }
  if (contains("control-looking token:")) {
    const auto piece = between(text, "'", "' was not control-type");
    if (changed_types_.size() < kMaxOthers) changed_types_.insert('"' + piece.value_or("...") + '"');
    return;
  }
  if (contains("empty token at index")) {
    ++empty_tokens_;
    return;
  }
  if (text.starts_with("model has unused tensor ")) {
    ++unused_count_;
    const auto name = between(text, "model has unused tensor ", " (size");
    if (name && unused_tensors_.size() < kMaxListed) unused_tensors_.insert(*name);
    return;
  }
  if (contains("bad special token:")) {
    const auto key = between(text, "bad special token: '", "'");
    const auto found = between(text, "' = ", ",");
    const std::string_view used = text.substr(text.rfind(' ') + 1);
    if (!key || !found || says_none(*found) || bad_specials_.size() >= kMaxOthers) return;
    bad_specials_.push_back({*key, *found, internal::parse_number<llama_token>(used).value_or(LLAMA_TOKEN_NULL)});
    return;
  }
  if (std::any_of(kDropped.begin(), kDropped.end(), [&](const Dropped& row) { return contains(row.part); })) return;
  const bool known = std::find(others_.begin(), others_.end(), text) != others_.end();
  if (!known && others_.size() < kMaxOthers) others_.emplace_back(text);
}

std::vector<ModelNote> LlamaWarnings::notes(const llama_vocab* vocabulary) const {
  std::vector<ModelNote> notes;
  for (const BadSpecial& bad : bad_specials_) {
    notes.push_back(doubtful(bad.key, bad.found, vocabulary, bad.used));
  }
  if (!changed_types_.empty()) {
    notes.push_back({Note{NoteCode::kTokenTypesChanged,
                          {{"tokens", std::vector<std::string>(changed_types_.begin(), changed_types_.end())}}}});
  }
  if (empty_tokens_ > 0) notes.push_back({Note{NoteCode::kEmptyTokens, {{"count", empty_tokens_}}}});
  if (unused_count_ > 0) {
    notes.push_back({Note{NoteCode::kTensorsUnused,
                          {{"count", unused_count_},
                           {"tensors", std::vector<std::string>(unused_tensors_.begin(), unused_tensors_.end())}}}});
  }
  for (const std::string& warning : others_) {
    notes.push_back({Note{NoteCode::kLlamaWarning, {{"warning", warning}}}});
  }
  return notes;
}

std::vector<ModelNote> unsaid_llama_notes(const llama_model& model, const internal::GgufHeader& header) {
  const llama_vocab* const vocabulary = llama_model_get_vocab(&model);
  std::vector<ModelNote> notes;
  const auto check = [&](const char* key, llama_token id) {
    const std::optional<std::int64_t> named = header.number(key);
    if (id == LLAMA_TOKEN_NULL) return;
    const bool missing = !named || *named == -1 || *named == 0xFFFFFFFF;
    if (missing) notes.push_back(doubtful(key, "missing", vocabulary, id));
  };
  constexpr const char* kBegin = "tokenizer.ggml.bos_token_id";
  constexpr const char* kEnd = "tokenizer.ggml.eos_token_id";
  const llama_token end = llama_vocab_eos(vocabulary);
  if (llama_vocab_get_add_bos(vocabulary)) check(kBegin, llama_vocab_bos(vocabulary));
  check(kEnd, end);
  // In running text, it ends the text when it is generated.
  if (end >= 0 && header.number(kEnd) == end &&
      (llama_vocab_get_attr(vocabulary, end) & LLAMA_TOKEN_ATTR_NORMAL) != 0) {
    notes.push_back(doubtful(kEnd, "ordinary", vocabulary, end));
  }
  const auto window =
      header.number(header.text("general.architecture").value_or("") + ".attention.sliding_window").value_or(0);
  if (window > 0 && llama_model_n_swa(&model) == 0) {
    const auto tokens = static_cast<std::size_t>(window);
    notes.push_back({Note{NoteCode::kWindowIgnored, {{"window", tokens}}}, tokens});
  }
  return notes;
}

}  // namespace attnflow
