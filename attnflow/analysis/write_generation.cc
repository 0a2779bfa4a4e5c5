#include "attnflow/analysis/write_generation.h"

#include "attnflow/analysis/write_report.h"
#include "attnflow/draw/html.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/extension.h"
#include "attnflow/report/generation_output.h"

namespace attnflow {

void write_generation(const std::filesystem::path& path, const GenerationReport& report,
                      const GenerationFigureOptions& figure) {
  check_output(path);
  const std::string ending = internal::lower_extension(path);
  if (is_picture(path)) {
    write_generation_figure(path, report, figure);
  } else if (ending == ".html") {
    write_generation_html(path, report);
  } else if (ending == ".json") {
    write_generation_json(path, report);
  } else if (ending == ".csv") {
    write_generation_csv(path, report);
  } else if (ending == ".npz") {
    write_generation_npz(path, report);
  } else if (ending == ".safetensors") {
    write_generation_safetensors(path, report);
  } else if (ending == ".md") {
    write_file(path, generation_markdown_table(report));
  } else {  // .txt: check_output lets no other kind pass
    write_file(path, generation_terminal_table(report));
  }
}

}  // namespace attnflow
