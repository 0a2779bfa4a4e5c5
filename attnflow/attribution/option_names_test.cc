#include "attnflow/attribution/option_names.h"

#include <gtest/gtest.h>

#include <string>

#include "attnflow/attribution/note.h"

namespace attnflow::option_names_test {
namespace {

TEST(OptionNames, AreThoseOfFields) {
  EXPECT_EQ(with_field_names("--flow-tolerance: expected x"), "flow_tolerance: expected x");
  EXPECT_EQ(with_field_names("pass --truncate to cut it (--top-k 3)"), "pass truncate to cut it (top_k 3)");
  EXPECT_EQ(with_field_names("-n: expected 1"), "tokens: expected 1");
  EXPECT_EQ(with_field_names("a -- b x--y 1 - 2 --"), "a -- b x--y 1 - 2 --");
}

TEST(OptionNames, PythonHasValues) {
  const auto python = [](const std::string& message) { return with_field_names(message, OptionNames::kPython); };
  EXPECT_EQ(python("--mixing attention shows it."), "mixing=\"attention\" shows it.");
  EXPECT_EQ(python("found --mixing gradient --method raw,rollout."),
            "found mixing=\"gradient\" method=\"raw,rollout\".");
  EXPECT_EQ(python("--normalize receptive-field removes it (--residual 0.5)"),
            "normalize=\"receptive-field\" removes it (residual=0.5)");
  EXPECT_EQ(python("--check always does it."), "check=True does it.");
  EXPECT_EQ(python("--heads applies to --mixing (or --discard), --target none"),
            "heads applies to mixing (or discard), target none");
  EXPECT_EQ(python("--residual: expected a weight"), "residual: expected a weight");
  EXPECT_EQ(with_field_names("--top-k 3", OptionNames::kShell), "--top-k 3");
}

TEST(OptionNames, WhatUsersWroteStays) {
  for (const std::string quoted : {"'--top-k'", "\"--top-k\"", "'it's --top-k'", "'a --top-k b'", "\" --top-k\""}) {
    EXPECT_EQ(with_field_names("--heads: found " + quoted), "heads: found " + quoted);
    EXPECT_EQ(with_field_names("found " + quoted + "; pass --top-k"), "found " + quoted + "; pass top_k");
  }
  EXPECT_EQ(with_field_names("--heads: found '--top-k"), "heads: found '--top-k");
}

TEST(OptionNames, TextsOfNotesStay) {
  const Note words{
      NoteCode::kUnknownWords,
      {{"count", std::size_t{1}}, {"words", std::vector<std::string>{"--top-k"}}, {"not_listed", std::size_t{0}}}};
  EXPECT_NE(note_text(words, OptionNames::kFields).find("--top-k"), std::string::npos);
  const Note sink{NoteCode::kWideGap, {{"widest", 3e-4}, {"tolerance", 1e-6}}};
  EXPECT_EQ(note_text(sink, OptionNames::kFields).find(" --"), std::string::npos);
}

}  // namespace
}  // namespace attnflow::option_names_test
