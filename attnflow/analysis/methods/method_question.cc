#include "attnflow/analysis/methods/method_question.h"

#include <numeric>
#include <utility>

namespace attnflow {

TextQuestion text_question(TextModel& model, const TextInput& input, const ScoreTarget& target, TokenGroups groups,
                           const std::optional<BlankToken>& blank) {
  TextQuestion question{.model = model,
                        .input = input,
                        .target = target,
                        .groups = std::move(groups),
                        .blanked = {},
                        .blank = {},
                        .content = {}};
  if (blank) {
    question.blank = blank->piece;
    question.blanked = [&input, id = blank->id](const std::vector<std::size_t>& positions) {
      return blank_tokens(input, positions, id);
    };
  }
  return question;
}

std::vector<double> sums_of_groups(const std::vector<double>& values, const TokenGroups& groups) {
  std::vector<double> sums;
  for (const std::vector<std::size_t>& group : groups) {
    sums.push_back(std::accumulate(group.begin(), group.end(), 0.0,
                                   [&](double sum, std::size_t position) { return sum + values.at(position); }));
  }
  return sums;
}

}  // namespace attnflow
