#include "python/binding/edges.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
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

using Floats = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;

TensorView<const float> view_of(const Floats& array) {
  Shape shape(array.ndim());
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = array.shape(d);
  return {array.data(), std::move(shape)};
}

// Scale, shift (of a layer norm) and epsilon.
using GivenNorm = std::tuple<Floats, std::optional<Floats>, double>;

NormTerms norm_of(const std::optional<GivenNorm>& given) {
  if (!given) return {};
  const auto& [scale, shift, epsilon] = *given;
  return {.scale = view_of(scale), .shift = shift ? view_of(*shift) : TensorView<const float>(), .epsilon = epsilon};
}

// The terms of a layer (graph/layer_terms.h); its arrays are Python's.
struct GivenTerms {
  std::size_t layer = 0;
  Floats attention, values, projection, residual, output;
  std::optional<Floats> block_scale;
  std::optional<GivenNorm> norm, feed_forward_norm;
  nb::object rest;  // rows of y [rows, hidden] -> the layer's output; None: not known

  LayerTerms terms() const {
    LayerTerms all;
    all.layer = layer;
    all.attention = view_of(attention);
    all.values = view_of(values);
    all.output_projection = view_of(projection);
    if (block_scale) all.block_scale = view_of(*block_scale);
    all.residual = view_of(residual);
    all.output = view_of(output);
    all.norm = norm_of(norm);
    all.feed_forward_norm = norm_of(feed_forward_norm);
    if (!rest.is_none()) all.rest = [this](TensorView<const float> rows) { return rest_of(rows); };
    return all;
  }

 private:
  Tensor<float> rest_of(TensorView<const float> rows) const {
    const nb::gil_scoped_acquire acquired;
    // A copy: what Python keeps of it outlives the call.
    auto* const owned = new Tensor<float>(rows.shape(), {rows.span().begin(), rows.span().end()});
    const nb::capsule owner(owned, [](void* tensor) noexcept { delete static_cast<Tensor<float>*>(tensor); });
    using Array = nb::ndarray<nb::numpy, float>;
    const nb::object given =
        nb::cast(Array(owned->data(), owned->rank(), owned->shape().data(), owner), nb::rv_policy::reference);
    const auto made = nb::cast<Floats>(rest(given));
    const TensorView<const float> view = view_of(made);
    return {view.shape(), {view.span().begin(), view.span().end()}};
  }
};

GivenTerms terms_of(std::size_t layer, Floats attention, Floats values, Floats projection, Floats residual,
                    Floats output, std::optional<Floats> block_scale, std::optional<GivenNorm> norm,
                    std::optional<GivenNorm> feed_forward_norm, nb::object rest) {
  return {layer,
          std::move(attention),
          std::move(values),
          std::move(projection),
          std::move(residual),
          std::move(output),
          std::move(block_scale),
          std::move(norm),
          std::move(feed_forward_norm),
          std::move(rest)};
}

EdgeLayer contributions_of(const GivenTerms& given, const std::string& mixing, std::size_t threads) {
  const MixingInfo& info = mixing_info(parse_mixing(mixing));
  if (info.needs != MixingNeeds::kTerms) {
    throw Error(ErrorKind::kUsage, "mixing: expected contributions, found '" + mixing + "'");
  }
  const nb::gil_scoped_release released;
  const LayerTerms terms = given.terms();
  // Nothing is removed here, and no residual added: that is done when all layers are there.
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
  const LayerTerms terms = given.terms();
  if (!bias) return completeness_error(terms, std::vector<float>(terms.residual.extent(1)));
  return completeness_error(terms, view_of(*bias).span());
}

// By AttnLRP's rules; arrays as LayerGradients has them.
EdgeLayer relevance_of(std::size_t layer, const Floats& attention, const Floats& gradient, const Floats& residual,
                       const Floats& output_gradient, bool by_head) {
  const nb::gil_scoped_release released;
  const LayerGradients gradients{.layer = layer,
                                 .attention = view_of(attention),
                                 .attention_gradient = view_of(gradient),
                                 .residual = view_of(residual),
                                 .output_gradient = view_of(output_gradient)};
  EdgeLayer made;
  made.made = positive_relevance(gradients, by_head ? RelevanceParts::kByHead : RelevanceParts::kTogether);
  made.heads = gradients.attention.extent(0);
  made.causal = is_causal(gradients.attention);
  return made;
}

// What target and against name, known before the model runs.
struct TargetChoice {
  TargetNames names;
  std::string kind;
  AskedTarget asked;

  ReportTarget choose(const nb::ndarray<const float, nb::ndim<1>, nb::c_contig>& logits,
                      std::optional<std::size_t> position) const {
    return target_among(
        asked, kind, {logits.data(), logits.size()}, [&](std::int64_t id) { return names.name(id); }, position);
  }
};

// `kind`: class, masked or next; `size`: of the vocabulary, or the number of classes.
TargetChoice target_choice(const nb::dict& options, const std::string& kind, const std::string& model, std::size_t size,
                           const nb::callable& name, const nb::callable& word_to_ids, Notes& notes) {
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

// What Mixing::kAuto stands for; `has_terms`: layers of the model are known.
std::string chosen_mixing(const nb::dict& options, bool causal, bool predicts, std::uint64_t parameters, bool has_terms,
                          std::size_t tokens, Notes& notes) {
  const ExplainOptions asked = read_options(options);
  Settings settings = asked.settings;
  choose_mixing(settings,
                {.causal = causal,
                 .predicts = predicts,
                 .parameters = parameters,
                 .has_terms = has_terms,
                 .has_gradients = [&] { return has_terms; }},
                {.tokens = tokens}, notes.all);  // one row alone is made from whole matrices here
  validate(settings);
  return to_text(settings.mixing);
}

// attention, terms or gradients.
const char* needs_of(const std::string& mixing) {
  switch (mixing_info(parse_mixing(mixing)).needs) {
    case MixingNeeds::kTerms:
      return "terms";
    case MixingNeeds::kGradients:
      return "gradients";
    case MixingNeeds::kAttention:
      break;
  }
  return "attention";
}

}  // namespace

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
  nb::class_<EdgeLayer>(module, "EdgeLayer")
      .def_prop_ro(
          "weights", [](nb::handle self) { return as_numpy(nb::cast<const EdgeLayer&>(self).made.weights, self); },
          nb::sig("def weights(self) -> numpy.typing.NDArray[numpy.float64]"))
      .def_prop_ro("heads", [](const EdgeLayer& layer) { return layer.heads; })
      .def_prop_ro("causal", [](const EdgeLayer& layer) { return layer.causal; });
  nb::class_<GivenTerms>(module, "LayerTerms")
      .def("contributions", contributions_of, nb::arg("mixing"), nb::arg("threads"))
      .def("completeness_error", completeness_of, nb::arg("bias").none(),
           nb::sig("def completeness_error(self, bias: numpy.typing.NDArray[numpy.float32] | None) -> float"));
  module.def("layer_terms", terms_of, nb::arg("layer"), nb::arg("attention"), nb::arg("values"), nb::arg("projection"),
             nb::arg("residual"), nb::arg("output"), nb::arg("block_scale").none(), nb::arg("norm").none(),
             nb::arg("feed_forward_norm").none(), nb::arg("rest").none(),
             nb::sig("def layer_terms(layer: int, attention: numpy.typing.NDArray[numpy.float32], values: "
                     "numpy.typing.NDArray[numpy.float32], projection: numpy.typing.NDArray[numpy.float32], residual: "
                     "numpy.typing.NDArray[numpy.float32], output: numpy.typing.NDArray[numpy.float32], block_scale: "
                     "numpy.typing.NDArray[numpy.float32] | None, norm: tuple[numpy.typing.NDArray[numpy.float32], "
                     "numpy.typing.NDArray[numpy.float32] | None, float] | None, feed_forward_norm: "
                     "tuple[numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float32] | None, float] | "
                     "None, rest: collections.abc.Callable[[numpy.typing.NDArray[numpy.float32]], "
                     "numpy.typing.NDArray[numpy.float32]] | None) -> LayerTerms"));
  module.def("relevance_layer", relevance_of, nb::arg("layer"), nb::arg("attention"), nb::arg("gradient"),
             nb::arg("residual"), nb::arg("output_gradient"), nb::arg("by_head"),
             nb::sig("def relevance_layer(layer: int, attention: numpy.typing.NDArray[numpy.float32], gradient: "
                     "numpy.typing.NDArray[numpy.float32], residual: numpy.typing.NDArray[numpy.float32], "
                     "output_gradient: numpy.typing.NDArray[numpy.float32], by_head: bool) -> EdgeLayer"));
  nb::class_<ReportTarget>(module, "Target")
      .def_prop_ro("index", [](const ReportTarget& target) { return target.index; })
      .def_prop_ro(
          "against",
          [](const ReportTarget& target) -> std::optional<std::int64_t> {
            if (!target.against) return std::nullopt;
            return target.against->index ? static_cast<std::int64_t>(*target.against->index) : -1;
          },
          "the number of the other; -1: the mean of all others");
  nb::class_<TargetChoice>(module, "TargetChoice")
      .def("choose", &TargetChoice::choose, nb::arg("logits"), nb::arg("position").none(),
           nb::sig("def choose(self, logits: numpy.typing.NDArray[numpy.float32], position: int | None) -> Target"));
  module.def("target_choice", target_choice, nb::arg("options"), nb::arg("kind"), nb::arg("model"), nb::arg("size"),
             nb::arg("name"), nb::arg("word_to_ids"), nb::arg("notes"),
             nb::sig("def target_choice(options: dict[str, object], kind: str, model: str, size: int, name: "
                     "collections.abc.Callable[[int], str], word_to_ids: collections.abc.Callable[[str], list[int]], "
                     "notes: Notes) -> TargetChoice"));
  module.def("chosen_mixing", chosen_mixing, nb::arg("options"), nb::arg("causal"), nb::arg("predicts"),
             nb::arg("parameters"), nb::arg("has_terms"), nb::arg("tokens"), nb::arg("notes"),
             nb::sig("def chosen_mixing(options: dict[str, object], causal: bool, predicts: bool, parameters: int, "
                     "has_terms: bool, tokens: int, notes: Notes) -> str"));
  module.def("needs_of", needs_of, nb::arg("mixing"));
}

}  // namespace attnflow::python
