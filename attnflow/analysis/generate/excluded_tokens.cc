#include "attnflow/analysis/generate/excluded_tokens.h"

#include <cstddef>
#include <string>

#include "attnflow/attribution/words.h"

namespace attnflow {
namespace {

// The same rules one by one, to learn which tokens each excludes.
std::vector<TokenFilterOptions> single_rules(const TokenFilterOptions& filter) {
  std::vector<TokenFilterOptions> rules;
  if (filter.special) rules.emplace_back().special = true;
  for (const std::string& language : filter.stop_words) rules.emplace_back().stop_words = {language};
  if (filter.punctuation) rules.emplace_back().punctuation = true;
  for (const std::string& pattern : filter.patterns) rules.emplace_back().patterns = {pattern};
  for (const std::string& index : filter.indices) rules.emplace_back().indices = {index};
  return rules;
}

}  // namespace

std::vector<ExcludedTokens> excluded_tokens(const InputText& input, const TokenFilterOptions& filter) {
  std::vector<FilterToken> tokens;
  for (const auto& group : word_groups(input.tokens)) {
    std::string word;
    for (const std::size_t j : group) word += own_text(input, j);
    for (const std::size_t j : group) {
      tokens.push_back({own_text(input, j), group.size() > 1 ? word : std::string(), input.tokens[j].special});
    }
  }
  std::vector<ExcludedTokens> excluded;
  for (const TokenFilterOptions& rule : single_rules(filter)) {
    const TokenFilterResult result = filter_tokens(tokens, rule);
    ExcludedTokens& found = excluded.emplace_back();
    found.rule = result.rules.front().reason;
    for (std::size_t j = 0; j < tokens.size(); ++j) {
      if (result.excluded[j]) found.tokens.push_back(j);
    }
  }
  return excluded;
}

}  // namespace attnflow
