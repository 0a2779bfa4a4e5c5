#include "attnflow/analysis/write_image.h"

#include "attnflow/analysis/write_report.h"
#include "attnflow/draw/html.h"
#include "attnflow/draw/picture_page.h"
#include "attnflow/files/extension.h"

namespace attnflow {

void write_image(const std::filesystem::path& path, const Report& report, const ImageFigureOptions& figure) {
  check_output(path);
  if (is_picture(path)) {
    write_picture_page(path, image_page(report, figure));
  } else if (internal::lower_extension(path) == ".html") {
    write_html(path, report);
  } else {
    write_report(path, report, {});
  }
}

}  // namespace attnflow
