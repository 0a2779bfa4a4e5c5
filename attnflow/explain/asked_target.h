// Resolves --target and --against for any model that predicts something.
//
// Classes are named by label (exactly, or differing only in case), by number, or by id:N if labels are numbers; tokens
// by a word as it would follow a space, or by id:N. Keywords (auto, none, rest, next10) as names
// need a leading space. --against also takes names separated by commas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/probabilities.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/explain/report_target.h"

namespace attnflow {

struct TargetNames {
  std::string model;  // its name, for messages
  bool of_class = false;
  std::vector<std::string> labels = {};  // for classes
  std::size_t vocabulary = 0;            // for tokens
  std::function<std::vector<std::int64_t>(const std::string& word)> word_to_ids = {};
  IdToText readable = {};

  std::string name(std::int64_t id) const;
};

// "next10": 10; nothing for other texts.
std::optional<std::size_t> next_of(std::string_view against);

// Returns the class with this name (in any case, if none matches exactly), this number, or id:N (even if N is a name).
std::optional<std::size_t> label_named(const std::string& label, const std::vector<std::string>& labels);

// A word stands for its first token, with a note if it has more. Throws Error(kUsage) for unknown or repeated names.
AskedTarget asked_target(const Settings& settings, const TargetNames& names, std::vector<Note>& notes);

// Likewise for an answer among `tokens` tokens: the position of its first token, by default against all others.
AskedTarget asked_begin(const Settings& settings, std::size_t tokens);

}  // namespace attnflow
