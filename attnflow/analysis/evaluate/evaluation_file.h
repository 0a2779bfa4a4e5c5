// The files of an evaluation: .json, .csv and .md.
#ifndef ATTNFLOW_ANALYSIS_EVALUATE_EVALUATION_FILE_H_
#define ATTNFLOW_ANALYSIS_EVALUATE_EVALUATION_FILE_H_

#include <filesystem>
#include <string>

#include "attnflow/files/atomic_file.h"
#include "attnflow/files/output_target.h"

namespace attnflow {

// Throws Error(kUsage) for another ending, and as check_output() does. Called before long work.
void check_evaluation_output(const std::filesystem::path& path);

// The text that the ending asks for, under a temporary name first. Throws as check_evaluation_output().
template <typename Report>
void write_evaluation(const std::filesystem::path& path, const Report& report, std::string (*json)(const Report&),
                      std::string (*csv)(const Report&), std::string (*markdown)(const Report&)) {
  check_evaluation_output(path);
  const std::string ending = internal::output_ending(path);
  write_file(path, (ending == ".json" ? json : ending == ".csv" ? csv : markdown)(report));
}

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_EVALUATE_EVALUATION_FILE_H_
