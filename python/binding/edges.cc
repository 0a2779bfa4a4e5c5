#include "python/binding/edges.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "attnflow/attribution/mixings.h"
#include "attnflow/base/error.h"
#include "attnflow/explain/asked_target.h"
#include "attnflow/explain/mixing_choice.h"
#include "attnflow/explain/report_target.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/layer_terms.h"
#include "python/binding/arrays.h"
#include "python/binding/options.h"

namespace attnflow::python {
namespace {

namespace nb = nanobind;

// Scale, shift and epsilon of a layer norm.
using GivenNorm = std::tuple<Floats, Floats, double>;
// Rows of y [rows, hidden] -> the layer's output.
using GivenRest = nb::typed<nb::callable, Floats(Floats)>;

// The terms of a layer (graph/layer_terms.h), and the Python arrays that they view.
struct GivenTerms {
  LayerTerms terms;
  std::vector<Floats> arrays;
  std::optional<GivenRest> rest;  // nothing: not known
};

// Calls `rest` from any thread.
Tensor<float> rest_of(const GivenRest& rest, TensorView<const float> rows) {
  const nb::gil_scoped_acquire acquired;
  // A copy: what Python keeps of it outlives the call.
  const auto given = given_to_numpy<float>({rows.shape(), {rows.span().begin(), rows.span().end()}});
  const auto made = nb::cast<Floats>(rest(given));
  const TensorView<const float> view = view_of<float>(made);
  return {view.shape(), {view.span().begin(), view.span().end()}};
}

std::unique_ptr<GivenTerms> terms_of(std::size_t layer, const Floats& attention, const Floats& values,
                                     const Floats& projection, const Floats& residual, const Floats& output,
                                     const std::optional<Floats>& block_scale, const std::optional<GivenNorm>& norm,
                                     const std::optional<GivenNorm>& feed_forward_norm,
                                     const std::optional<GivenRest>& rest) {
  auto given = std::make_unique<GivenTerms>();
  const auto kept = [&](const Floats& array) {
    given->arrays.push_back(array);
    return view_of<float>(array);
  };
  const auto norm_of = [&](const std::optional<GivenNorm>& given_norm) -> NormTerms {
    if (!given_norm) return {};
    const auto& [scale, shift, epsilon] = *given_norm;
    return {.scale = kept(scale), .shift = kept(shift), .epsilon = epsilon};
  };
  given->rest = rest;
  given->terms = {.layer = layer,
                  .attention = kept(attention),
                  .values = kept(values),
                  .output_projection = kept(projection),
                  .block_scale = block_scale ? kept(*block_scale) : TensorView<const float>(),
                  .residual = kept(residual),
                  .output = kept(output),
                  .norm = norm_of(norm),
                  .feed_forward_norm = norm_of(feed_forward_norm)};
  if (rest) {
    given->terms.rest = [known = given.get()](TensorView<const float> rows) { return rest_of(*known->rest, rows); };
  }
  return given;
}

EdgeLayer contributions_of(const GivenTerms& given, const std::string& mixing, std::size_t threads) {
  const MixingInfo& info = mixing_info(parse_mixing(mixing));
  if (info.needs != MixingNeeds::kTerms) {
    throw Error(ErrorKind::kUsage, "mixing: expected contributions, found '" + mixing + "'");
  }
  const nb::gil_scoped_release released;
  const LayerTerms& terms = given.terms;
  // No columns are removed and no residual added until all layers are there.
  ContributionRows rows(terms.layer, {.contribution = info.contribution, .threads = threads}, false);
  EdgeLayer made;
  made.made.weights = rows.rows(terms);
  made.heads = terms.attention.extent(0);
  made.causal = is_causal(terms.attention);
  made.first_shares = first_shares(terms.attention);
  return made;
}

double completeness_of(const GivenTerms& given, const std::optional<Floats>& bias) {
  const nb::gil_scoped_release released;
  const LayerTerms& terms = given.terms;
  if (!bias) return completeness_error(terms, std::vector<float>(terms.residual.extent(1)));
  return completeness_error(terms, view_of<float>(*bias).span());
}

// By AttnLRP's rules; arrays as in LayerGradients.
EdgeLayer relevance_of(std::size_t layer, const Floats& attention, const Floats& gradient, const Floats& residual,
                       const Floats& output_gradient, bool by_head) {
  const nb::gil_scoped_release released;
  const LayerGradients gradients{.layer = layer,
                                 .attention = view_of<float>(attention),
                                 .attention_gradient = view_of<float>(gradient),
                                 .residual = view_of<float>(residual),
                                 .output_gradient = view_of<float>(output_gradient)};
  EdgeLayer made;
  made.made = positive_relevance(gradients, by_head ? RelevanceParts::kByHead : RelevanceParts::kTogether);
  made.heads = gradients.attention.extent(0);
  made.causal = is_causal(gradients.attention);
  return made;
}

// Known before the model runs.
struct TargetChoice {
  TargetNames names;
  std::string kind;
  AskedTarget asked;

  ReportTarget choose(const Logits& logits, std::optional<std::size_t> position) const {
    return target_among(
        asked, kind, {logits.data(), logits.size()}, [&](std::int64_t id) { return names.name(id); }, position);
  }
};

using IdsOf = nb::typed<nb::callable, std::vector<std::int64_t>(nb::str)>;

// `kind`: class, masked or next; `size`: of the vocabulary, or the number of classes.
TargetChoice target_choice(const OptionDict& options, const std::string& kind, const std::string& model,
                           std::size_t size, const NameOf& name, const IdsOf& word_to_ids, Notes& notes) {
  TargetChoice choice;
  choice.kind = kind;
  TargetNames& names = choice.names;
  names.model = model;
  names.of_class = kind == "class";
  names.vocabulary = size;
  names.readable = [name](std::int64_t id) { return nb::cast<std::string>(name(id)); };
  names.word_to_ids = [word_to_ids](const std::string& word) {
    return nb::cast<std::vector<std::int64_t>>(word_to_ids(word));
  };
  for (std::size_t c = 0; names.of_class && c < size; ++c) {
    names.labels.push_back(names.readable(static_cast<std::int64_t>(c)));
  }
  choice.asked = asked_target(read_options(options).settings, names, notes.all);
  return choice;
}

// Resolves Mixing::kAuto; `has_terms`: layers of the model are known.
std::string chosen_mixing(const OptionDict& options, bool predicts, std::uint64_t parameters, bool has_terms,
                          std::size_t tokens, Notes& notes) {
  const ExplainOptions asked = read_options(options);
  Settings settings = asked.settings;
  choose_mixing(settings,
                {.parameters = parameters, .has_terms = has_terms, .has_gradients = [&] { return has_terms; }},
                {.tokens = tokens, .predicts = predicts}, notes.all);  // one row alone is made from whole matrices here
  validate(settings);
  return to_text(settings.mixing);
}

const char* needs_name(MixingNeeds needs) {
  switch (needs) {
    case MixingNeeds::kTerms:
      return "terms";
    case MixingNeeds::kGradients:
      return "gradients";
    case MixingNeeds::kRelevance:
      return "relevance";
    case MixingNeeds::kAttention:
      break;
  }
  return "attention";
}

}  // namespace

std::optional<std::vector<std::size_t>> others_of(const ReportTarget& target) {
  if (!target.against) return std::nullopt;
  return target.against->indices();
}

MadeEdges edges_of(const std::vector<EdgeLayer*>& layers, const ReportTarget* target) {
  MadeEdges edges;
  edges.causal = !layers.empty();
  for (EdgeLayer* layer : layers) {
    edges.layers.push_back(std::move(layer->made));
    edges.first_shares.push_back(std::move(layer->first_shares));
    edges.heads = layer->heads;
    edges.causal = edges.causal && layer->causal;
  }
  edges.causal = edges.causal && edges.layers.front().weights.extent(0) > 1;
  if (target != nullptr) edges.target = *target;
  return edges;
}

void bind_edges(nb::module_& module) {
  nb::class_<Notes>(module, "Notes").def(nb::init<>());
  nb::class_<EdgeLayer>(module, "EdgeLayer").def_prop_ro("weights", [](const EdgeLayer& layer) {
    if (layer.made.weights.empty()) {
      throw Error(ErrorKind::kUsage,
                  "weights: expected a layer that is not part of a report yet, found one whose weights the report has "
                  "taken");
    }
    return as_numpy(layer.made.weights);
  });
  nb::class_<GivenTerms>(module, "LayerTerms")
      .def("contributions", contributions_of, nb::arg("mixing"), nb::arg("threads"))
      .def("completeness_error", completeness_of, nb::arg("bias"));
  module.def("layer_terms", terms_of, nb::arg("layer"), nb::arg("attention"), nb::arg("values"), nb::arg("projection"),
             nb::arg("residual"), nb::arg("output"), nb::arg("block_scale"), nb::arg("norm"),
             nb::arg("feed_forward_norm"), nb::arg("rest"));
  module.def("relevance_layer", relevance_of, nb::arg("layer"), nb::arg("attention"), nb::arg("gradient"),
             nb::arg("residual"), nb::arg("output_gradient"), nb::arg("by_head"));
  nb::class_<ReportTarget>(module, "Target")
      .def_prop_ro("index", [](const ReportTarget& target) { return target.index; })
      .def_prop_ro("against", others_of, "the numbers of the others; none: all others, whose mean is subtracted");
  nb::class_<TargetChoice>(module, "TargetChoice")
      .def("choose", &TargetChoice::choose, nb::arg("logits"), nb::arg("position"));
  module.def("target_choice", target_choice, nb::arg("options"), nb::arg("kind"), nb::arg("model"), nb::arg("size"),
             nb::arg("name"), nb::arg("word_to_ids"), nb::arg("notes"));
  module.def("chosen_mixing", chosen_mixing, nb::arg("options"), nb::arg("predicts"), nb::arg("parameters"),
             nb::arg("has_terms"), nb::arg("tokens"), nb::arg("notes"));
  nb::class_<MixingInfo>(module, "MixingInfo")
      .def_prop_ro(
          "needs", [](const MixingInfo& info) { return needs_name(info.needs); },
          "attention, terms, gradients or relevance")
      .def_ro("norms_after", &MixingInfo::norms_after)
      .def_ro("by_head", &MixingInfo::by_head);
  module.def(
      "mixing_info", [](const std::string& name) { return mixing_info(parse_mixing(name)); }, nb::arg("name"));
  module.def("contributions_listed", [] { return mixings_that_need(MixingNeeds::kTerms); });
}

}  // namespace attnflow::python
