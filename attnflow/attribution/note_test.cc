#include "attnflow/attribution/note.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "attnflow/attribution/note_texts.h"

namespace attnflow::note_test {
namespace {

using internal::note_rows;

TEST(NoteTable, RowsStandInTheOrderOfTheCodesAndHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < note_rows().size(); ++i) {
    const NoteCode code = note_rows()[i].code;
    EXPECT_EQ(static_cast<std::size_t>(code), i);
    EXPECT_TRUE(names.insert(to_text(code)).second) << to_text(code);
    EXPECT_EQ(find_note_code(to_text(code)), code);
  }
  EXPECT_EQ(note_rows().back().code, NoteCode::kHeadsUnused);
  EXPECT_EQ(find_note_code("made-up"), std::nullopt);
}

// The first two columns of the documented table: "| `wide-gap` | `widest`, `tolerance` |".
std::vector<std::string> expected_rows() {
  std::vector<std::string> rows;
  for (const internal::NoteRow& row : note_rows()) {
    std::istringstream names{std::string(row.values)};
    std::string cell;
    for (std::string name; names >> name;) cell += fmt::format("{}`{}`", cell.empty() ? " " : ", ", name);
    rows.push_back(fmt::format("| `{}` |{} |", row.name, cell));
  }
  return rows;
}

TEST(NoteTable, DocumentationListsEveryCodeAndItsValues) {
  std::ifstream file(std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "docs/report-format.md");
  std::vector<std::string> found;
  bool in_table = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "| code | values | meaning |") in_table = true;
    if (line.empty()) in_table = false;
    if (in_table && line.starts_with("| `")) found.push_back(line.substr(0, line.find('|', line.find('|', 2) + 1) + 1));
  }
  EXPECT_EQ(found, expected_rows());
}

TEST(Note, HasTheWordsOfItsCode) {
  const Note sink{NoteCode::kAttentionSink, {{"share", 0.4321}, {"token", "The"}}};
  EXPECT_EQ(sink.text,
            "43% of the output token's attention falls on the first token, \u201cThe\u201d, on average over layers: "
            "decoders use "
            "it as an attention sink.");
  EXPECT_EQ(note_text(sink), sink.text + " --mask-columns first masks it.");
  const Note gap{NoteCode::kWideGap, {{"widest", 3.04e-4}, {"tolerance", 1e-6}}};
  EXPECT_TRUE(gap.text.starts_with("The widest flow interval is 3.0e-04, wider than the tolerance of 1e-06."))
      << gap.text;
  const Note trained{NoteCode::kTrainedOnSamples,
                     {{"model", "{}"}, {"sources", std::vector<std::string>{"a", "{b}"}}}};  // no formats
  EXPECT_EQ(trained.text, "{} was trained on a, {b}, so these are not results on held-out data.");
  EXPECT_EQ(note_text(Note("Mine, with {braces}.")), "Mine, with {braces}.");
}

TEST(Note, CountsInWords) {
  const auto blanked = [](std::vector<std::size_t> positions) {
    return Note{NoteCode::kTokensBlanked, {{"blank", "[UNK]"}, {"positions", std::move(positions)}}}.text;
  };
  EXPECT_EQ(blanked({3}), "The model sees [UNK] in place of the token at position 3.");
  EXPECT_EQ(blanked({1, 3}), "The model sees [UNK] in place of the tokens at positions 1, 3.");
  const auto left_out = [](NoteValues values) { return Note{NoteCode::kLeftOut, std::move(values)}.text; };
  const std::vector<std::string> arrays = {"raw_generated", "attention", "flow_gap"};
  EXPECT_EQ(
      left_out({{"arrays", arrays}}),
      "Left out here to save space: raw attention on generated tokens, the attention of single heads and the gaps of "
      "flow values.");
  EXPECT_EQ(left_out({{"arrays", std::vector<std::string>{}}, {"layers_left_out", 8UL}, {"layers", 12UL}}),
            "Left out here to save space: 8 of the 12 layers.");
}

}  // namespace
}  // namespace attnflow::note_test
