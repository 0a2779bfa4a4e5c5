// Selecting the tokens that a ranking leaves out.
//
// A ranking of input tokens by weight is often headed by tokens that say little: articles, commas, the token at the
// start of every text. A filter excludes them by rule and changes no weight: the ranking skips the excluded tokens and
// reports which share of the total weight they carry.
//
// Token i is excluded when at least one rule holds for it:
//   special        it is a special token;
//   stop words     the word it belongs to is a function word of one of the languages (stop_words.h). Words are compared
//                  in lower case and composed form (NFC), without space markers ("Ġ", "▁") and without surrounding
//                  quotes and punctuation, but with accents. A piece inside a longer word is not a word: "the" in
//                  "theory" stays. All pieces of a stop word are excluded;
//   punctuation    its text has no letter and no number of any script (Unicode's Alphabetic, Nd, Nl, No): punctuation,
//                  symbols, emoji, white space. A single-byte piece ("<0xF0>") is judged by the word it belongs to, and
//                  stays if that is unknown;
//   patterns       a regular expression matches somewhere in its text: "^the$", "(?i)^d", "\d". The syntax is that of
//                  Rust's regex crate, and of ECMAScript except for look-around and backreferences; without these a
//                  search takes linear time, whatever the expression;
//   indices        its position, counted from 0, is listed: "0", "3-7" (both ends included).
//
// Cost: O(b (p + 1)) for b bytes of text and p patterns. Deterministic and independent of the locale.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace attnflow {

struct FilterToken {
  std::string text;  // as shown in the ranking (TextCodec::readable), or as the vocabulary spells the piece
  // The whole word that contains this piece, as it appears in the text. If empty, the token is a word by itself, or,
  // with a leading "##", a piece of an unknown word.
  std::string word = {};
  bool special = false;
};

struct TokenFilterOptions {
  bool special = false;                      // exclude special tokens
  bool punctuation = false;                  // exclude tokens without any letter or number
  std::vector<std::string> stop_words = {};  // exclude function words of these languages: "en", "de", ...
  std::vector<std::string> patterns = {};    // exclude tokens whose text matches any of these
  std::vector<std::string> indices = {};     // exclude the tokens at these positions: "0", "3-7"
};

struct TokenFilterRule {
  std::string reason;      // "special tokens", "stop words (en)", "pattern \"^a\"", ...
  std::size_t tokens = 0;  // tokens that match; a token that matches two rules counts in both
};

struct TokenFilterResult {
  std::vector<bool> excluded;          // [tokens]
  std::size_t tokens_excluded = 0;     // number of excluded tokens, each counted once
  std::vector<TokenFilterRule> rules;  // in the order above: one per language and per pattern, else one per rule in use
};

// Throws Error(kUsage) for a language without a list, a regular expression that is malformed or too large, an index
// that is not a number or range or that lies beyond the last token, and for text that is not UTF-8.
TokenFilterResult filter_tokens(std::span<const FilterToken> tokens, const TokenFilterOptions& options);

}  // namespace attnflow
