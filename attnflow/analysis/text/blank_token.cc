#include "attnflow/analysis/text/blank_token.h"

#include <cstdint>
#include <optional>

#include "attnflow/base/format_error.h"
#include "attnflow/model/architecture.h"

namespace attnflow {
namespace {

// A GGUF file's codec has no table of pieces, but knows what ends a text.
std::optional<BlankToken> first_end(const TextCodec& tokenizer) {
  const auto limit = static_cast<std::int64_t>(tokenizer.id_limit());
  for (std::int64_t id = 0; id < limit; ++id) {
    if (tokenizer.is_end(id)) return BlankToken{id, tokenizer.spelled(id)};
  }
  return std::nullopt;
}

}  // namespace

BlankToken find_blank_token(const TextCodec& tokenizer, const ModelInfo& info, const std::string& asked) {
  const auto known = [&](const std::optional<std::int64_t>& id) -> std::optional<BlankToken> {
    if (!id || *id >= static_cast<std::int64_t>(info.vocabulary)) return std::nullopt;
    return BlankToken{*id, tokenizer.spelled(*id)};
  };
  std::optional<BlankToken> found;
  if (asked == "unk") {
    found = known(tokenizer.unknown_id());
  } else if (asked == "mask") {
    found = known(tokenizer.mask_id());
  } else if (asked == "pad") {
    const Architecture* const row = find_architecture(info.architecture);
    if (row != nullptr && row->skips_padding()) {
      throw internal::usage_error(
          "--blank: expected unk or mask for a model of the RoBERTa family, found pad, which would also shift the "
          "positions of the tokens after it");
    }
    found = known(tokenizer.padding_id());
  } else {
    found = known(tokenizer.unknown_id());
    if (!found) found = known(tokenizer.mask_id());
    if (!found && info.causal) {
      found = known(tokenizer.padding_id());
      if (!found) found = known(tokenizer.end_id());
      if (!found) found = first_end(tokenizer);
    }
  }
  if (found) return *found;
  throw internal::usage_error(
      "--blank {}: expected a tokenizer with such a token, found none in {}; choose another of unk, mask, pad", asked,
      tokenizer.source());
}

std::optional<BlankToken> try_find_blank_token(const TextCodec& tokenizer, const ModelInfo& info) {
  try {
    return find_blank_token(tokenizer, info);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<BlankToken> blank_token_for(const Settings& settings, const TextCodec& tokenizer, const ModelInfo& info) {
  return settings.wants(Method::kBlankOut) ? find_blank_token(tokenizer, info) : try_find_blank_token(tokenizer, info);
}

TextInput blank_tokens(TextInput input, const std::vector<std::size_t>& positions, std::int64_t blank) {
  for (const std::size_t position : positions) input.ids.at(position) = blank;
  return input;
}

}  // namespace attnflow
