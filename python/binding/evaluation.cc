#include "python/binding/evaluation.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_evidence.h"
#include "attnflow/analysis/evaluate/mixed_graphs.h"
#include "attnflow/attribution/settings.h"
#include "python/binding/arrays.h"
#include "python/binding/options.h"
#include "python/binding/text_model.h"
#include "python/binding/work.h"

namespace attnflow::python {
namespace {

namespace nb = nanobind;

// Text, right word, wrong word, evidence, swapped word.
using GivenSample =
    std::tuple<std::string, std::optional<std::string>, std::optional<std::string>, std::string, std::string>;

// Options beside the table of settings.
struct GivenEvaluation {
  std::vector<std::string> mixings;
  std::vector<std::string> scores;
  std::vector<std::size_t> flow_layers;
  std::string begin;
  std::size_t samples = 0;
  std::uint64_t seed = 1;
};

EvidenceReport evaluate_model(const nb::object& backend, const std::vector<GivenSample>& given,
                              const GivenEvaluation& asked, const OptionDict& settings,
                              const std::optional<Progress>& progress) {
  EvidenceOptions options;
  options.settings = read_evidence_settings(settings);
  options.mixings = parse_mixings(asked.mixings);
  options.scores = asked.scores;
  options.flow_layers = asked.flow_layers;
  options.begin = asked.begin;
  options.samples = asked.samples;
  options.seed = asked.seed;
  options.resampling.seed = asked.seed;
  std::vector<EvidenceSample> samples;
  for (const auto& [text, good, bad, evidence, swap] : given) {
    samples.push_back({.prefix = text, .good = good, .bad = bad, .evidence = evidence, .swap = swap});
  }
  const PythonCodec codec(backend);
  const ExplainOptions rows;
  EvidenceReport report;
  run_without_lock(
      [&](const ProgressFunction& tell, const std::stop_token& stop, Caller& caller) {
        options.progress = tell;
        options.stop_token = stop;
        const PythonBackend of_python(backend, caller);
        PythonTextModel model(of_python, rows);
        report = evaluate_evidence(model, codec, samples, options);
      },
      progress);
  return report;
}

}  // namespace

void bind_evaluation(nb::module_& module) {
  nb::class_<GivenEvaluation>(module, "EvaluationRequest")
      .def(
          "__init__",
          [](GivenEvaluation* made, std::vector<std::string> mixings, std::vector<std::string> scores,
             std::vector<std::size_t> flow_layers, std::string begin, std::size_t samples, std::uint64_t seed) {
            new (made) GivenEvaluation{.mixings = std::move(mixings),
                                       .scores = std::move(scores),
                                       .flow_layers = std::move(flow_layers),
                                       .begin = std::move(begin),
                                       .samples = samples,
                                       .seed = seed};
          },
          nb::kw_only(), nb::arg("mixings"), nb::arg("scores"), nb::arg("flow_layers"), nb::arg("begin"),
          nb::arg("samples"), nb::arg("seed"));
  nb::class_<EvidenceReport>(module, "EvidenceReport")
      .def("json", [](const EvidenceReport& report) { return evaluation_json(report); })
      .def("csv", [](const EvidenceReport& report) { return evaluation_csv(report); })
      .def("markdown", [](const EvidenceReport& report) { return evaluation_markdown(report); })
      .def(
          "table", [](const EvidenceReport& report, std::size_t width) { return evaluation_table(report, width); },
          nb::arg("width"));
  module.def("read_evidence", [](const std::string& path) {
    std::vector<GivenSample> samples;
    for (const EvidenceSample& one : read_evidence(path)) {
      samples.emplace_back(one.prefix, one.good, one.bad, one.evidence, one.swap);
    }
    return samples;
  });
  module.def("evaluate_model", evaluate_model, nb::arg("backend"), nb::arg("samples"), nb::arg("asked"),
             nb::arg("settings"), nb::arg("progress").none());
}

}  // namespace attnflow::python
