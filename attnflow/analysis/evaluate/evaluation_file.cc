#include "attnflow/analysis/evaluate/evaluation_file.h"

#include <fmt/format.h>

#include "attnflow/analysis/write_report.h"
#include "attnflow/base/error.h"
#include "attnflow/files/output_target.h"

namespace attnflow {

void check_evaluation_output(const std::filesystem::path& path) {
  const std::string ending = internal::output_ending(path);
  if (ending != ".json" && ending != ".csv" && ending != ".md") {
    throw Error(ErrorKind::kUsage, fmt::format("-o: expected a file name ending in .json, .csv or .md, found '{}'{}",
                                               path.string(), ending_suggestion(ending, {".json", ".csv", ".md"})));
  }
  check_output(path);
}

}  // namespace attnflow
