// The forms of an evaluation: a document (.json), its cells (.csv), a page for people (.md), and tables for a terminal.
//
// Every evaluation's report has four functions, which differ in the report's type only:
//
//     std::string evaluation_json(const Report& report);      // everything, in the layout of document_text()
//     std::string evaluation_csv(const Report& report);       // fields of one of the document's lists, a line for each
//     std::string evaluation_markdown(const Report& report);  // GitHub's Markdown
//     std::string evaluation_table(const Report& report, std::size_t width);  // lines of at most `width` cells
//
// write_evaluation() and the command choose among them; here are also the parts that several of them share.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/mixings.h"
#include "attnflow/attribution/note.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/output_target.h"
#include "attnflow/metrics/statistics.h"

namespace attnflow {

// Throws Error(kUsage) for another ending, and as check_output() does. Called before long work.
void check_evaluation_output(const std::filesystem::path& path);

// Writes the text for the ending under a temporary name first. Throws as check_evaluation_output().
template <typename Report>
void write_evaluation(const std::filesystem::path& path, const Report& report) {
  check_evaluation_output(path);
  const std::string ending = internal::output_ending(path);
  write_file(path, ending == ".json"  ? evaluation_json(report)
                   : ending == ".csv" ? evaluation_csv(report)
                                      : evaluation_markdown(report));
}

// null for methods outside the graph, which have no mixing.
nlohmann::ordered_json mixing_json(const std::optional<Mixing>& mixing);
// Every field; null for what is NaN.
nlohmann::ordered_json summary_json(const Summary& summary);

// The text of a document: a line for each field, and for each object in a list. Numbers have the fewest digits that
// read back as the same double, or are null.
std::string document_text(const nlohmann::ordered_json& document);

// A header, and a line for each of a document's objects with its fields of these names: of a nested object its mean;
// nothing for null and for a missing field.
std::string records_csv(const nlohmann::ordered_json& records, std::initializer_list<const char*> names);

// Removes the interval from means of fewer than kFewestForInterval values, and notes it if one had an interval.
void drop_intervals(const std::vector<Summary*>& summaries, std::vector<Note>& notes);

// "0.250 (0.125 to 0.375)": the mean and its interval; a difference is "+0.250 (+0.125 to +0.375)". Empty without
// samples.
std::string interval_words(const Summary& summary);
std::string difference_words(const Summary& summary);

// "3 of 4 (75.0%)".
std::string part_words(std::size_t part, std::size_t whole);

// Mixings that the model does not support, then the notes: a text for each, for people.
std::vector<std::string> remarks(const std::map<std::string, std::string>& impossible, const std::vector<Note>& notes);

}  // namespace attnflow
