// What --target and --against name, of any model that says what it predicts.
//
// Classes are named by their label, exactly or in other letters' case, by their number, or by id:N where labels are
// numbers; tokens by a word as it would follow a space, or by id:N. A name that is a keyword, too (auto, none, rest),
// is written with a space before it.
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

// The classes of a model, or its tokens.
struct TargetNames {
  std::string model;  // its name, for messages
  bool of_class = false;
  std::vector<std::string> labels = {};  // of classes
  std::size_t vocabulary = 0;            // of tokens
  std::function<std::vector<std::int64_t>(const std::string& word)> word_to_ids = {};
  IdToText readable = {};

  std::string name(std::int64_t id) const;
};

// The number of a class from its name (in any case, if none has it as it stands), its number, or id:N, which is class N
// also where N is the name of another; nothing when there is no such class.
std::optional<std::size_t> label_named(const std::string& label, const std::vector<std::string>& labels);

// A word of several tokens stands for its first, which a note says. Throws Error(kUsage) for names of no class or
// token, and the same one twice.
AskedTarget asked_target(const Settings& settings, const TargetNames& names, std::vector<Note>& notes);

// The same where an answer is explained, of `tokens` tokens: the position of the one with which it begins, by default
// against all others.
AskedTarget asked_begin(const Settings& settings, std::size_t tokens);

}  // namespace attnflow
