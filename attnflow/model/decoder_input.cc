#include "attnflow/model/decoder_input.h"

#include <fmt/format.h>

#include "attnflow/base/error.h"
#include "attnflow/model/model_input.h"

namespace attnflow {

void check_decoder_ids(const ModelInfo& info, std::size_t length, std::span<const std::int64_t> ids) {
  if (ids.empty()) throw Error(ErrorKind::kUsage, "the input is empty: expected at least one token");
  if (length > info.max_tokens || ids.size() > info.max_tokens - length) {
    const std::string found =
        length == 0 ? fmt::format("{}", ids.size()) : fmt::format("{} after the {} existing ones", ids.size(), length);
    throw Error(ErrorKind::kInputTooLong,
                fmt::format("expected at most {} tokens, the positions of the model \"{}\", found {}. Shorten the "
                            "input, or let it be cut with --truncate",
                            info.max_tokens, info.name, found));
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || static_cast<std::uint64_t>(ids[i]) >= info.vocabulary) {
      throw Error(ErrorKind::kBadFile,
                  fmt::format("expected token ids from 0 to {}, the vocabulary of the model \"{}\", found {} at "
                              "position {}. The tokenizer and the weights do not match",
                              info.vocabulary - 1, info.name, ids[i], length + i));
    }
  }
}

void check_decoder_head(const ModelInfo& info) {
  if (info.head == ModelHead::kCausalLm) return;
  throw Error(
      ErrorKind::kUnsupportedModel,
      fmt::format("expected a language model, which predicts the next token, found the base model {}, whose files "
                  "hold no lm_head.weight; attnflow explain shows its attention",
                  info.name));
}

void check_decoder_input(const ModelInfo& info, const ModelInput& input, const RunOptions& options) {
  check_no_picture(info, input);
  check_decoder_ids(info, 0, input.ids);
  const std::size_t n = input.ids.size();
  if (!input.type_ids.empty() && input.type_ids.size() != n) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected as many type ids as ids, or none, found {} ids and {} type ids", n,
                            input.type_ids.size()));
  }
  if (!options.logit_positions.empty()) check_decoder_head(info);
  for (const std::size_t position : options.logit_positions) {
    if (position >= n) {
      throw Error(ErrorKind::kUsage, fmt::format("expected logit positions from 0 to {}, found {}", n - 1, position));
    }
  }
}

void check_decoder_target(const ModelInfo& info, const ScoreTarget& target) {
  check_decoder_head(info);
  const bool both = target.kind == ScoreTarget::Kind::kProbabilityDifference;
  for (const std::size_t label : {target.label, both ? target.other : target.label}) {
    if (label < info.vocabulary) continue;
    throw Error(ErrorKind::kUsage, fmt::format("expected labels below {}, token ids of the model \"{}\", found {}",
                                               info.vocabulary, info.name, label));
  }
}

}  // namespace attnflow
