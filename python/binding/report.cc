#include "python/binding/report.h"

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/attribution/input.h"
#include "attnflow/attribution/methods.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/option_names.h"
#include "attnflow/draw/html.h"
#include "attnflow/draw/notebook_cell.h"
#include "attnflow/report/report.h"
#include "attnflow/report/report_answer.h"
#include "attnflow/report/report_arrays.h"
#include "attnflow/report/report_csv.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_json_parts.h"
#include "attnflow/report/report_scores.h"
#include "attnflow/report/report_table.h"
#include "python/binding/arrays.h"

namespace attnflow::python {
namespace {

namespace nb = nanobind;
using Path = std::filesystem::path;

// Texts may be any bytes.
nb::str text_of(const std::string& bytes) {
  const std::string text = internal::valid_utf8(bytes);
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

std::string csv_of(const Report& report) {
  std::string csv;
  report_to_csv(report, [&csv](std::string_view piece) { csv += piece; });
  return csv;
}

std::string json_of(const Report& report) { return report_to_json(report); }
void write_json(const Path& path, const Report& report) { write_report_json(path, report); }

template <auto Write>
void to_path(const Report& report, const Path& path) {
  Write(path, report);
}

// The text, or nothing if it was written to a file.
template <auto Text, auto Write>
std::optional<std::string> text_or_file(const Report& report, const std::optional<Path>& path) {
  if (!path) return Text(report);
  Write(*path, report);
  return std::nullopt;
}

// Nothing for an absent array.
template <auto Member>
auto array_of(const Report& report) {
  const auto& tensor = report.*Member;
  return tensor.empty() ? std::nullopt : std::optional(as_numpy(tensor));
}

// Kind, label, position, the label compared with, and the value.
using SaidTarget = std::tuple<std::string, nb::str, std::optional<std::size_t>, std::optional<nb::str>, double>;

std::optional<SaidTarget> target_of(const Report& report) {
  if (!report.target) return std::nullopt;
  const ReportTarget& target = *report.target;
  std::optional<nb::str> against;
  if (target.against && target.against->is_rest()) against = text_of("rest");
  if (target.against && !target.against->is_rest()) against = text_of(against_words(*target.against));
  return SaidTarget(target.kind, text_of(target.label), target.position, against, target.value());
}

nb::str answer_lines(const Report& report) {
  return text_of(fmt::format("{}", fmt::join(answer_sentences(report), "\n")));
}

}  // namespace

void bind_report(nb::module_& module) {
  using Unlocked = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Report>(module, "Report")
      .def_prop_ro("raw", array_of<&Report::raw>)
      .def_prop_ro("rollout", array_of<&Report::rollout>)
      .def_prop_ro("flow", array_of<&Report::flow>)
      .def_prop_ro("flow_gap", array_of<&Report::flow_gap>)
      .def_prop_ro("flow_degenerate", array_of<&Report::flow_degenerate>)
      .def_prop_ro("graph", array_of<&Report::graph>)
      .def_prop_ro("attention", array_of<&Report::attention>)
      .def_prop_ro("output_tokens", [](const Report& report) { return as_numpy(report.output_tokens); })
      .def_prop_ro("flow_output_tokens", [](const Report& report) { return as_numpy(report.flow_output_tokens); })
      .def_prop_ro("layers", [](const Report& report) { return as_numpy(report.settings.layers); })
      .def_prop_ro("flow_layers",
                   [](const Report& report) {
                     return as_numpy(report.flow_layers.empty() ? report.settings.layers : report.flow_layers);
                   })
      .def_prop_ro("output_token", [](const Report& report) { return report.output_token; })
      .def_prop_ro("tokens",
                   [](const Report& report) {
                     std::vector<nb::str> texts;
                     for (const InputToken& token : report.input.tokens) texts.push_back(text_of(token.text));
                     return texts;
                   })
      .def_prop_ro("labels",
                   [](const Report& report) {
                     std::vector<nb::str> labels;
                     for (std::size_t i = 0; i < report.input.tokens.size(); ++i) {
                       labels.push_back(text_of(display_text(report.input, i)));
                     }
                     return labels;
                   })
      .def_prop_ro("text", [](const Report& report) { return text_of(report.input.text); })
      .def_prop_ro("generated_text",
                   [](const Report& report) {
                     return report.generation ? std::optional(text_of(report.generation->text)) : std::nullopt;
                   })
      .def_prop_ro("generated_tokens",
                   [](const Report& report) {
                     if (!report.generation) return std::optional<std::vector<nb::str>>();
                     std::vector<nb::str> texts;
                     for (std::size_t t = 0; t < report.generation->tokens.size(); ++t) {
                       texts.push_back(text_of(generated_text(*report.generation, t)));
                     }
                     return std::optional(texts);
                   })
      .def_prop_ro("scores",
                   [](nb::handle self) {
                     std::vector<std::tuple<std::string, NumPyArray<const double>>> all;
                     for (const MethodScores& scores : nb::cast<const Report&>(self).scores) {
                       all.emplace_back(to_text(scores.method), as_numpy(scores.values));
                     }
                     return all;
                   })
      .def_prop_ro("target", target_of)
      .def("answer_lines", answer_lines)
      .def_prop_ro("special",
                   [](const Report& report) {
                     std::vector<bool> special;
                     for (const InputToken& token : report.input.tokens) special.push_back(token.special);
                     return special;
                   })
      .def_prop_ro("notes", [](const Report& report) { return note_texts(report.notes, OptionNames::kPython); })
      .def_prop_ro("name", [](const Report& report) { return report.model.name; })
      .def_prop_ro("causal", [](const Report& report) { return report.model.causal; })
      .def("predictions_json", [](const Report& report) { return internal::json_of(report.predictions).dump(); })
      .def("document", [](const Report& report) { return internal::report_head(report) + "}"; })
      .def(
          "table",
          [](const Report& report, std::size_t width, bool color) {
            return terminal_table(report, {.width = width, .color = color, .option_names = OptionNames::kPython});
          },
          nb::arg("width"), nb::arg("color"))
      .def_static(
          "from_json", [](const std::string& json) { return report_from_json(json); }, nb::arg("json"), Unlocked())
      .def("json", text_or_file<json_of, write_json>, nb::sig("def json(self, path: str | None) -> str | None"),
           Unlocked())
      .def("csv", text_or_file<csv_of, write_report_csv>, nb::sig("def csv(self, path: str | None) -> str | None"),
           Unlocked())
      .def("html", text_or_file<report_html, write_html>, nb::sig("def html(self, path: str | None) -> str | None"),
           Unlocked())
      .def("notebook_cell", notebook_cell, nb::arg("name"), Unlocked())
      .def(
          "markdown", [](const Report& report) { return markdown_table(report, OptionNames::kPython); }, Unlocked())
      .def("write_npz", to_path<write_report_npz>, nb::sig("def write_npz(self, path: str) -> None"), Unlocked())
      .def("write_safetensors", to_path<write_report_safetensors>,
           nb::sig("def write_safetensors(self, path: str) -> None"), Unlocked());
}

}  // namespace attnflow::python
