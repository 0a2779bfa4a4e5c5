#include "python/binding/report.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/input.h"
#include "attnflow/attribution/methods.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/option_names.h"
#include "attnflow/draw/html.h"
#include "attnflow/report/report.h"
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
nb::object text_of(const std::string& bytes) {
  const std::string text = internal::valid_utf8(bytes);
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

std::string csv_of(const Report& report) {
  std::string csv;
  report_to_csv(report, [&csv](std::string_view piece) { csv += piece; });
  return csv;
}

std::string json_of(const Report& report) { return report_to_json(report); }
void write_json(const Path& path, const Report& report) { write_report_json(path, report); }

template <PageForm form>
std::string html_of(const Report& report) {
  return report_html(report, form);
}

template <auto Write>
void to_path(const Report& report, const Path& path) {
  Write(path, report);
}

template <auto Member>
nb::object array_of(nb::handle self) {
  return as_numpy(nb::cast<const Report&>(self).*Member, self);
}

}  // namespace

void bind_report(nb::module_& module) {
  const auto signature = [](const char* text) { return nb::sig(text); };
  using Unlocked = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Report>(module, "Report")
      .def_prop_ro("raw", array_of<&Report::raw>,
                   signature("def raw(self) -> numpy.typing.NDArray[numpy.float64] | None"))
      .def_prop_ro("rollout", array_of<&Report::rollout>,
                   signature("def rollout(self) -> numpy.typing.NDArray[numpy.float64] | None"))
      .def_prop_ro("flow", array_of<&Report::flow>,
                   signature("def flow(self) -> numpy.typing.NDArray[numpy.float64] | None"))
      .def_prop_ro("flow_gap", array_of<&Report::flow_gap>,
                   signature("def flow_gap(self) -> numpy.typing.NDArray[numpy.float64] | None"))
      .def_prop_ro("flow_degenerate", array_of<&Report::flow_degenerate>,
                   signature("def flow_degenerate(self) -> numpy.typing.NDArray[numpy.uint8] | None"))
      .def_prop_ro("graph", array_of<&Report::graph>,
                   signature("def graph(self) -> numpy.typing.NDArray[numpy.float64] | None"))
      .def_prop_ro("attention", array_of<&Report::attention>,
                   signature("def attention(self) -> numpy.typing.NDArray[numpy.float32] | None"))
      .def_prop_ro("output_tokens", array_of<&Report::output_tokens>,
                   signature("def output_tokens(self) -> numpy.typing.NDArray[numpy.int64]"))
      .def_prop_ro("flow_output_tokens", array_of<&Report::flow_output_tokens>,
                   signature("def flow_output_tokens(self) -> numpy.typing.NDArray[numpy.int64]"))
      .def_prop_ro(
          "layers", [](nb::handle self) { return as_numpy(nb::cast<const Report&>(self).settings.layers, self); },
          signature("def layers(self) -> numpy.typing.NDArray[numpy.int64]"))
      .def_prop_ro("output_token", [](const Report& report) { return report.output_token; })
      .def_prop_ro(
          "tokens",
          [](const Report& report) {
            nb::list texts;
            for (const InputToken& token : report.input.tokens) texts.append(text_of(token.text));
            return texts;
          },
          nb::sig("def tokens(self) -> list[str]"))
      .def_prop_ro(
          "generated_text",
          [](const Report& report) -> nb::object {
            return report.generation ? text_of(report.generation->text) : nb::none();
          },
          nb::sig("def generated_text(self) -> str | None"))
      .def_prop_ro(
          "generated_tokens",
          [](const Report& report) -> nb::object {
            if (!report.generation) return nb::none();
            nb::list texts;
            for (std::size_t t = 0; t < report.generation->tokens.size(); ++t) {
              texts.append(text_of(generated_text(*report.generation, t)));
            }
            return texts;
          },
          nb::sig("def generated_tokens(self) -> list[str] | None"))
      .def_prop_ro(
          "flow_layers",
          [](nb::handle self) {
            const Report& report = nb::cast<const Report&>(self);
            return as_numpy(report.flow_layers.empty() ? report.settings.layers : report.flow_layers, self);
          },
          signature("def flow_layers(self) -> numpy.typing.NDArray[numpy.int64]"))
      .def_prop_ro(
          "predictions",
          [](const Report& report) {
            nb::list all;
            for (const ReportPrediction& prediction : report.predictions) {
              nb::list choices;
              for (const ReportChoice& choice : prediction.choices) {
                choices.append(nb::make_tuple(text_of(choice.label), choice.probability));
              }
              all.append(nb::make_tuple(prediction.kind, prediction.position, choices));
            }
            return all;
          },
          nb::sig("def predictions(self) -> list[tuple[str, int | None, list[tuple[str, float]]]]"))
      .def_prop_ro(
          "target",
          [](const Report& report) -> nb::object {
            if (!report.target) return nb::none();
            const ReportTarget& target = *report.target;
            nb::object against = nb::none();
            if (target.against) against = text_of(target.against->index ? target.against->label : "rest");
            return nb::make_tuple(target.kind, text_of(target.label), target.position, against, target.value());
          },
          nb::sig("def target(self) -> tuple[str, str, int | None, str | None, float] | None"))
      .def_prop_ro(
          "agreement",
          [](const Report& report) -> nb::object {
            if (!report.agreement) return nb::none();
            nb::list maps;
            for (const MapAgreement& map : report.agreement->maps) {
              maps.append(nb::make_tuple(to_text(map.method),
                                         nb::make_tuple(map.rank_correlation, map.first_token, map.blanked_value,
                                                        map.decisive_token, map.decisive_value)));
            }
            return nb::make_tuple(report.agreement->quantity, report.agreement->blank, report.agreement->value, maps);
          },
          nb::sig("def agreement(self) -> tuple[str, str, float, list[tuple[str, tuple[float | None, int, float, int | "
                  "None, float]]]] | None"))
      .def_prop_ro("special",
                   [](const Report& report) {
                     std::vector<bool> special;
                     for (const InputToken& token : report.input.tokens) special.push_back(token.special);
                     return special;
                   })
      .def_prop_ro("notes", [](const Report& report) { return note_texts(report.notes, OptionNames::kFields); })
      .def_prop_ro("name", [](const Report& report) { return report.model.name; })
      .def_prop_ro("causal", [](const Report& report) { return report.model.causal; })
      .def("settings_json", [](const Report& report) { return internal::settings_json(report.settings).dump(); })
      .def(
          "table",
          [](const Report& report, std::size_t width, bool color) {
            return terminal_table(report, {.width = width, .color = color, .option_names = OptionNames::kFields});
          },
          nb::arg("width"), nb::arg("color"))
      .def("json", json_of, Unlocked())
      .def_static(
          "from_json", [](const std::string& json) { return report_from_json(json); }, nb::arg("json"), Unlocked())
      .def("csv", csv_of, Unlocked())
      .def("html", html_of<PageForm::kPage>, Unlocked())
      .def("embedded_html", html_of<PageForm::kEmbedded>, Unlocked())
      .def("write_json", to_path<write_json>, signature("def write_json(self, path: str) -> None"), Unlocked())
      .def("write_csv", to_path<write_report_csv>, signature("def write_csv(self, path: str) -> None"), Unlocked())
      .def("write_npz", to_path<write_report_npz>, signature("def write_npz(self, path: str) -> None"), Unlocked())
      .def("write_safetensors", to_path<write_report_safetensors>,
           signature("def write_safetensors(self, path: str) -> None"), Unlocked())
      .def("write_html", to_path<write_html>, signature("def write_html(self, path: str) -> None"), Unlocked());
}

}  // namespace attnflow::python
