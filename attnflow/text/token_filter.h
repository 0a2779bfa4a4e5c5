// Which tokens a ranking leaves out.
//
// A ranking of input tokens by weight is often headed by tokens that say little: articles, commas, the token in front
// of every text. A filter names them by rule. It changes no weight: whoever ranks leaves the excluded tokens out, and
// says which share of the mass they carry.
//
// Token i is excluded when at least one rule holds for it:
//   special        it is a special token;
//   stop words     the word that it belongs to is a function word of one of the languages (stop_words.h). Words are
//                  compared in lower case and composed form (NFC), without marks of spaces ("Ġ", "▁"), quotes and
//                  punctuation around them, and with accents. A piece inside a longer word is no word: "the" in
//                  "theory" stays. All pieces of a stop word are excluded;
//   punctuation    its text has no letter and no number of any script (Unicode's Alphabetic, Nd, Nl, No): punctuation,
//                  symbols, emoji, white space. A piece of single bytes ("<0xF0>") goes by the word that it belongs to,
//                  and stays when that is not known;
//   patterns       a regular expression occurs in its text: "^the$", "(?i)^d", "\d". The syntax is that of Rust's regex
//                  crate, and of ECMAScript as far as it has neither look-around nor back references; without these a
//                  search takes time proportional to the text, whatever the expression;
//   indices        its position, counted from 0, is named: "0", "3-7" (both ends included).
//
// Cost: O(b (p + 1)) for b bytes of text and p patterns. Deterministic; no locale is asked.
#ifndef ATTNFLOW_TEXT_TOKEN_FILTER_H_
#define ATTNFLOW_TEXT_TOKEN_FILTER_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace attnflow {

struct FilterToken {
  std::string text;  // as the ranking shows it (TextCodec::readable), or the piece as the vocabulary spells it
  // The whole word that it is a piece of, as it stands in the text. Empty: the token is a word by itself, or with "##"
  // in front a piece of an unknown one.
  std::string word = {};
  bool special = false;
};

struct TokenFilterOptions {
  bool special = false;                      // exclude special tokens
  bool punctuation = false;                  // exclude tokens without any letter or number
  std::vector<std::string> stop_words = {};  // exclude function words of these languages: "en", "de", ...
  std::vector<std::string> patterns = {};    // exclude tokens in whose text one of these occurs
  std::vector<std::string> indices = {};     // exclude the tokens at these positions: "0", "3-7"
};

struct TokenFilterRule {
  std::string reason;      // "special tokens", "stop words (en)", "pattern \"^a\"", ...
  std::size_t tokens = 0;  // for how many tokens it holds; a token for which two rules hold counts in both
};

struct TokenFilterResult {
  std::vector<bool> excluded;          // [tokens]
  std::size_t tokens_excluded = 0;     // how many of them, each once
  std::vector<TokenFilterRule> rules;  // one for each rule that was asked for, in the order above
};

// Throws Error(kUsage) for a language without a list, a regular expression that is malformed or too large, an index
// that is no number or range, or lies beyond the last token, and for text that is not UTF-8.
TokenFilterResult filter_tokens(std::span<const FilterToken> tokens, const TokenFilterOptions& options);

}  // namespace attnflow

#endif  // ATTNFLOW_TEXT_TOKEN_FILTER_H_
