// The extension module attnflow._figures, imported with the first picture of a report: it needs pango and cairo.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/methods.h"
#include "attnflow/base/error.h"
#include "attnflow/draw/figure.h"
#include "attnflow/report/report.h"
#include "python/binding/errors.h"

namespace attnflow::python {
namespace {

namespace nb = nanobind;

FigureOptions figure_options(const std::optional<std::string>& view, std::optional<std::size_t> output_token,
                             const std::vector<std::size_t>& layers, const std::vector<std::string>& methods,
                             const std::string& width, double font_size, bool notes) {
  FigureOptions options;
  if (view) options.view = figure_view_from_name(*view);
  if (view && !options.view) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--view: expected one of {}, found '{}'", fmt::join(figure_view_names(), ", "), *view));
  }
  options.option_names = OptionNames::kPython;
  options.output_token = output_token;
  options.layers = layers;
  if (!methods.empty()) options.methods = parse_methods(methods);
  PaperOptions paper;
  paper.width = parse_length("width", width);
  paper.font_size = font_size;
  paper.notes = notes;
  options.set(paper);
  return options;
}

nb::bytes as_bytes(const std::string& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

}  // namespace
}  // namespace attnflow::python

NB_MODULE(_figures, module) {
  namespace nb = nanobind;
  nb::set_leak_warnings(false);
  attnflow::python::raise_errors_in_python();
  using attnflow::FigureOptions;
  using attnflow::Report;
  using namespace attnflow::python;
  using Unlocked = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<FigureOptions>(module, "Options")
      .def(nb::new_(&figure_options), nb::arg("view").none(), nb::arg("output_token").none(), nb::arg("layers"),
           nb::arg("methods"), nb::arg("width"), nb::arg("font_size"), nb::arg("notes"));
  module.def(
      "svg", [](const Report& report, const FigureOptions& options) { return attnflow::figure_svg(report, options); },
      Unlocked(), nb::sig("def svg(report: attnflow._core.Report, options: Options) -> str"));
  module.def(
      "png",
      [](const Report& report, const FigureOptions& options) {
        std::string picture;
        {
          const nb::gil_scoped_release released;
          picture = attnflow::figure_png(report, options);
        }
        return as_bytes(picture);
      },
      nb::sig("def png(report: attnflow._core.Report, options: Options) -> bytes"));
  module.def(
      "write",
      [](const Report& report, const std::filesystem::path& path, const FigureOptions& options) {
        attnflow::write_figure(path, report, options);
      },
      Unlocked(), nb::sig("def write(report: attnflow._core.Report, path: str, options: Options) -> None"));
}
