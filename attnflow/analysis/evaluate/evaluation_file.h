// Writing an evaluation to .json, .csv and .md, and parts that several evaluations share.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "attnflow/attribution/mixings.h"
#include "attnflow/evaluate/statistics.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/output_target.h"

namespace attnflow {

// Throws Error(kUsage) for another ending, and as check_output() does. Called before long work.
void check_evaluation_output(const std::filesystem::path& path);

// Writes the text for the ending under a temporary name first. Throws as check_evaluation_output().
template <typename Report>
void write_evaluation(const std::filesystem::path& path, const Report& report, std::string (*json)(const Report&),
                      std::string (*csv)(const Report&), std::string (*markdown)(const Report&)) {
  check_evaluation_output(path);
  const std::string ending = internal::output_ending(path);
  write_file(path, (ending == ".json" ? json : ending == ".csv" ? csv : markdown)(report));
}

// null and "" for methods outside the graph, which have no mixing.
nlohmann::ordered_json mixing_json(const std::optional<Mixing>& mixing);
std::string mixing_text(const std::optional<Mixing>& mixing);

// "0.250 (0.125 to 0.375)": the mean and its interval; a difference is "+0.250 (+0.125 to +0.375)".
std::string interval_words(const Summary& summary);
std::string difference_words(const Summary& summary);

// "3 of 4 (75.0%)".
std::string part_words(std::size_t part, std::size_t whole);

// A document with one field a line.
std::string document_text(const nlohmann::ordered_json& document);

}  // namespace attnflow
