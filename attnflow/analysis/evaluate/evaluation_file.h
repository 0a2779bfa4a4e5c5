// The files of an evaluation: .json, .csv and .md.
#ifndef ATTNFLOW_ANALYSIS_EVALUATE_EVALUATION_FILE_H_
#define ATTNFLOW_ANALYSIS_EVALUATE_EVALUATION_FILE_H_

#include <filesystem>
#include <functional>
#include <string>

namespace attnflow {

// Throws Error(kUsage) for another ending, and as check_output() does. Called before long work.
void check_evaluation_output(const std::filesystem::path& path);

// What the ending asks for, under a temporary name first. Throws as check_evaluation_output().
struct EvaluationTexts {
  std::function<std::string()> json;
  std::function<std::string()> csv;
  std::function<std::string()> markdown;
};
void write_evaluation(const std::filesystem::path& path, const EvaluationTexts& texts);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_EVALUATE_EVALUATION_FILE_H_
