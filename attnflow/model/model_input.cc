#include "attnflow/model/model_input.h"

#include <fmt/format.h>

#include <cstddef>

#include "attnflow/base/error.h"

namespace attnflow {

void check_model_input(const ModelConfig& config, const ModelInfo& info, const ModelInput& input,
                       const RunOptions& options) {
  const std::size_t n = input.ids.size();
  if (n == 0) throw Error(ErrorKind::kUsage, "expected at least one token, found none: the input is empty");
  if (n > info.max_tokens) {
    throw Error(ErrorKind::kInputTooLong,
                fmt::format("expected at most {} tokens, the positions of the model \"{}\", found {}. Shorten the "
                            "input, or let it be cut with --truncate",
                            info.max_tokens, info.name, n));
  }
  if (!input.type_ids.empty() && input.type_ids.size() != n) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected as many type ids as ids, or none, found {} ids and {} type ids", n,
                            input.type_ids.size()));
  }
  const auto outside = [](std::int64_t id, std::size_t limit) {
    return id < 0 || static_cast<std::uint64_t>(id) >= limit;
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (outside(input.ids[i], info.vocabulary)) {
      throw Error(
          ErrorKind::kBadFile,
          fmt::format("expected token ids from 0 to {}, the vocabulary of the model \"{}\", found {} at position {}. "
                      "The tokenizer and the weights do not belong together",
                      info.vocabulary - 1, info.name, input.ids[i], i));
    }
    if (config.token_types > 1 && !input.type_ids.empty() && outside(input.type_ids[i], config.token_types)) {
      throw Error(
          ErrorKind::kBadFile,
          fmt::format("expected type ids from 0 to {}, the token types of the model \"{}\", found {} at position {}. "
                      "The tokenizer and the weights do not belong together",
                      config.token_types - 1, info.name, input.type_ids[i], i));
    }
  }
  for (const std::size_t position : options.logit_positions) {
    if (position >= n) {
      throw Error(ErrorKind::kUsage, fmt::format("expected logit positions from 0 to {}, found {}", n - 1, position));
    }
  }
}

std::vector<std::int64_t> position_ids(const ModelConfig& config, std::span<const std::int64_t> ids) {
  std::vector<std::int64_t> positions;
  positions.reserve(ids.size());
  std::int64_t next = config.padding_id ? *config.padding_id + 1 : 0;
  for (const std::int64_t id : ids) {
    positions.push_back(config.padding_id && id == *config.padding_id ? id : next++);
  }
  return positions;
}

}  // namespace attnflow
