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
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/layer_terms.h"
#include "python/binding/arrays.h"
#include "python/binding/errors.h"
#include "python/binding/work.h"

namespace attnflow::python {
namespace {

namespace nb = nanobind;

// Scale, shift and epsilon of a layer norm.
using GivenNorm = std::tuple<Floats, Floats, double>;
// Calls `rest` from any thread.
Tensor<float> rest_of(const GivenRest& rest, TensorView<const float> rows) {
  const nb::gil_scoped_acquire acquired;
  // A copy: what Python keeps of it outlives the call.
  const auto given = given_to_numpy<float>({rows.shape(), {rows.span().begin(), rows.span().end()}});
  try {
    const auto made = nb::cast<Floats>(rest(given));
    const TensorView<const float> view = view_of<float>(made);
    return {view.shape(), {view.span().begin(), view.span().end()}};
  } catch (nb::python_error& error) {
    throw_own_error(error);
    throw PassingThrough{std::current_exception()};
  }
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

double completeness_of(const GivenTerms& given, const std::optional<Floats>& bias) {
  const nb::gil_scoped_release released;
  const LayerTerms& terms = given.terms;
  if (!bias) return completeness_error(terms, std::vector<float>(terms.residual.extent(1)));
  return completeness_error(terms, view_of<float>(*bias).span());
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

void bind_edges(nb::module_& module) {
  nb::class_<GivenTerms>(module, "LayerTerms").def("completeness_error", completeness_of, nb::arg("bias"));
  module.def("layer_terms", terms_of, nb::arg("layer"), nb::arg("attention"), nb::arg("values"), nb::arg("projection"),
             nb::arg("residual"), nb::arg("output"), nb::arg("block_scale"), nb::arg("norm"),
             nb::arg("feed_forward_norm"), nb::arg("rest"));
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
