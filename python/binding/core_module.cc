// The extension module attnflow._core: arrays and options in, a report out. Users see the package around it.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "attnflow/analysis/generate/generate.h"
#include "attnflow/analysis/image/explain_image.h"
#include "attnflow/analysis/text/explain_text.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/attribution/mixings.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/probabilities.h"
#include "attnflow/attribution/query.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/attribution/text_places.h"
#include "attnflow/attribution/words.h"
#include "attnflow/base/error.h"
#include "attnflow/base/suggestion.h"
#include "attnflow/base/version.h"
#include "attnflow/explain/check_maps.h"
#include "attnflow/explain/contribution_arrays.h"
#include "attnflow/explain/explain_attention.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/metrics/rank_correlation.h"
#include "python/binding/arrays.h"
#include "python/binding/edges.h"
#include "python/binding/errors.h"
#include "python/binding/evaluation.h"
#include "python/binding/options.h"
#include "python/binding/report.h"
#include "python/binding/text_model.h"
#include "python/binding/work.h"

namespace attnflow::python {
namespace {

namespace nb = nanobind;

// Messages name the argument as they name a file's path.
constexpr const char* kSource = "attention";

// Takes finished contributions; the mixing must say which they are.
ContributionArrays contributions_of(const GivenArrays& given, const Settings& settings) {
  if (mixing_info(settings.mixing).needs != MixingNeeds::kTerms) throw unnamed_contributions(kSource);
  const auto widened = [](const auto& values) {
    return Tensor<double>(values.shape(), {values.span().begin(), values.span().end()});
  };
  ContributionArrays arrays;
  arrays.contributions = checked_contributions(std::visit(widened, given.stacked()), kSource);
  return arrays;
}

// What arrays have no names for; empty: unknown.
struct GivenTokens {
  std::vector<std::string> texts;
  std::vector<bool> special;
  std::string name;
  bool only_values = false;  // keeps only the methods' arrays, not the layers
};

// Fuses heads as rollout and flow do, for the queries from `query_begin` on: [head, query, key] -> [query, key].
NumPyArray<const double> fuse_heads_of(const ArrayList& attention, const std::string& heads, std::size_t query_begin) {
  const MixingOptions mixing{.heads = parse_heads(heads).fusion};
  if (mixing.heads == HeadFusion::kSingle) {
    throw Error(ErrorKind::kUsage, "fuse: expected mean, max or min, found '" + heads + "'");
  }
  const GivenArrays given(attention);
  Tensor<double> fused;
  {
    const nb::gil_scoped_release released;
    fused = given.of_first([&](const auto& weights) { return fused_weights(weights, mixing, query_begin); });
  }
  return given_to_numpy<const double>(std::move(fused));
}

// Attention or finished contributions as arrays.
Report explain_arrays(const ArrayList& attention, const ArrayList& contributions, const GivenTokens& tokens,
                      const OptionDict& options, const std::optional<Progress>& progress) {
  ExplainOptions asked = read_options(options);
  const GivenArrays weights(attention);
  const GivenArrays made(contributions);
  if (weights.empty() && made.empty()) {
    throw Error(ErrorKind::kBadFile, "attention: expected an array with at least one layer, found none");
  }
  if (made.empty() && mixing_info(asked.settings.mixing).needs == MixingNeeds::kTerms) {
    throw Error(ErrorKind::kUsage,
                fmt::format("mixing {}: expected finished contributions [layer, query, key], found attention by head",
                            to_text(asked.settings.mixing)));
  }
  asked.only_values = tokens.only_values;
  AttentionInput input;
  input.name = tokens.name;
  Report report;
  run_without_lock(
      [&](const ProgressFunction& tell, const std::stop_token& stop, Caller&) {
        asked.progress = tell;
        asked.stop_token = stop;
        if (!weights.empty() && (input.running = running_layers(asked, weights.size()))) {
          for (std::size_t l = 1; l <= weights.size(); ++l) {
            append(input, weights.layer(l), kSource, asked);
          }
        } else if (!weights.empty()) {
          input.stack = attention_stack(weights.stacked(), kSource, asked, input.zero_rows);
        }
        if (!made.empty()) input.contributions = contributions_of(made, asked.settings);
        set_tokens(input, tokens.texts, tokens.special, kSource);
        report = explain_attention(std::move(input), asked);
      },
      progress);
  return report;
}

void note_rows(const ExplainOptions& options, const ZeroRows& zeros, Report& report) {
  if (options.any_weights && report.settings.mixing == Mixing::kAttention)
    report.notes.emplace_back(NoteCode::kAnyWeights);
  note_zero_rows(zeros, report.notes);
}

// Runs `work`, which asks the loaded model, without the interpreter's lock; its options get progress and Ctrl-C.
template <typename Options>
void run_model(const nb::object& backend, Options& options, const std::function<void(const PythonBackend&)>& work,
               const std::optional<Progress>& progress) {
  run_without_lock(
      [&](const ProgressFunction& tell, const std::stop_token& stop, Caller& caller) {
        options.progress = tell;
        options.stop_token = stop;
        work(PythonBackend(backend, caller));
      },
      progress);
}

// Explains a text with a loaded model (python/attnflow/backend.py). `check`: never, auto or always.
Report explain_model(const nb::object& backend, const OptionDict& given, const std::string& check,
                     const std::optional<Progress>& progress) {
  ExplainOptions options = read_model_options(given);
  from_value(check, options.check);
  const PythonCodec codec(backend);
  Report report;
  run_model(
      backend, options,
      [&](const PythonBackend& of_python) {
        PythonTextModel model(of_python, options);
        report = explain_text(model, codec, codec.text(), codec.pair(), options);
        note_rows(options, model.zero_rows(), report);
      },
      progress);
  return report;
}

// A picture: pixels [height, width, 3] of eight bits, its name, the processor's configuration as JSON, and the PNG file
// that a report shows.
Report explain_picture(const nb::object& backend, const OptionDict& given, const std::string& check,
                       const std::optional<Progress>& progress) {
  ExplainOptions options = read_model_options(given);
  from_value(check, options.check);
  using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
  const auto pixels = nb::cast<Bytes>(backend.attr("pixels"));
  const Shape shape = {pixels.shape(0), pixels.shape(1), pixels.shape(2)};
  const Picture picture{.rgb = {shape, {pixels.data(), pixels.data() + pixels.size()}}, .origin = {}};
  const auto [png, png_width, png_height] =
      nb::cast<std::tuple<nb::bytes, std::size_t, std::size_t>>(backend.attr("shown"));
  const PictureGiven shown{.picture = picture,
                           .name = nb::cast<std::string>(backend.attr("picture_name")),
                           .png = std::string(png.c_str(), png.size()),
                           .png_width = png_width,
                           .png_height = png_height};
  const auto json = nb::cast<std::string>(backend.attr("processor_json"));
  Report report;
  run_model(
      backend, options,
      [&](const PythonBackend& of_python) {
        PythonVisionModel model(of_python, options);
        const ModelInfo& info = model.info();
        const ImageProcessor processor = read_image_processor(
            json, "processor", {.channels = info.image->channels, .model_type = info.architecture});
        report = explain_image(model, processor, shown, options);
        note_rows(options, model.zero_rows(), report);
      },
      progress);
  return report;
}

// A text that the model has generated, and what its tokens depend on.
Report explain_generated(const nb::object& backend, const OptionDict& given, const std::optional<Progress>& progress) {
  ModelGenerateOptions asked = read_generation_options(given);
  GenerateOptions& options = asked.generate;
  const PythonCodec codec(backend);
  options.made = nb::cast<std::vector<std::size_t>>(backend.attr("made"));
  options.made_stopped = nb::cast<std::string>(backend.attr("stopped"));
  options.tokens = options.made.size();
  Report report;
  run_model(
      backend, options,
      [&](const PythonBackend& of_python) {
        PythonDecoder model(of_python, asked.rows);
        report = generate(model, codec, options.chat ? asked.user : codec.text(), options);
        note_rows(asked.rows, model.zero_rows(), report);
      },
      progress);
  return report;
}

}  // namespace
}  // namespace attnflow::python

NB_MODULE(_core, module) {
  using namespace attnflow::python;
  namespace nb = nanobind;
  nb::set_leak_warnings(false);  // of reports that live as long as the interpreter
  raise_errors_in_python();
  bind_report(module);
  bind_edges(module);
  bind_text_model(module);
  bind_evaluation(module);
  module.def("version", [] { return ATTNFLOW_VERSION; });
  module.def("described_options", described_options, nb::arg("asks"));
  module.def(
      "nearest_name",
      [](const std::string& typed, const std::vector<std::string>& names) {
        return attnflow::internal::nearest_name(typed, names);
      },
      nb::arg("typed"), nb::arg("names"));
  nb::class_<GivenTokens>(module, "Tokens")
      .def(nb::init<std::vector<std::string>, std::vector<bool>, std::string, bool>(), nb::arg("texts"),
           nb::arg("special"), nb::arg("name"), nb::arg("only_values"));
  module.def("fuse_heads", fuse_heads_of, nb::arg("attention"), nb::arg("heads"), nb::arg("query_begin") = 0);
  using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig>;
  module.def(
      "spearman",
      [](const Values& first, const Values& second, const Values& first_gaps, const Values& second_gaps) {
        const auto span = [](const Values& values) { return std::span<const double>(values.data(), values.size()); };
        return attnflow::spearman(span(first), span(second),
                                  {.first_gaps = span(first_gaps), .second_gaps = span(second_gaps)});
      },
      nb::arg("first"), nb::arg("second"), nb::arg("first_gaps"), nb::arg("second_gaps"));
  module.def("explain_arrays", explain_arrays, nb::arg("attention"), nb::arg("contributions"), nb::arg("tokens"),
             nb::arg("options"), nb::arg("progress"));
  module.def(
      "check_model_options", [](const OptionDict& options) { read_model_options(options); }, nb::arg("options"));
  module.def("explain_model", explain_model, nb::arg("backend"), nb::arg("options"), nb::arg("check"),
             nb::arg("progress"));
  module.def("explain_picture", explain_picture, nb::arg("backend"), nb::arg("options"), nb::arg("check"),
             nb::arg("progress"));
  module.def("explain_generated", explain_generated, nb::arg("backend"), nb::arg("options"), nb::arg("progress"));
  module.def(
      "check_generation_options", [](const OptionDict& options) { read_generation_options(options); },
      nb::arg("options"));
}
