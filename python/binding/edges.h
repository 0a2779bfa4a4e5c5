// The parts of a layer's contributions, as Python finds them.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <vector>

#include "attnflow/graph/layer_terms.h"
#include "python/binding/arrays.h"

namespace attnflow::python {

// Rows of y [rows, hidden] -> the layer's output.
using GivenRest = nanobind::typed<nanobind::callable, Floats(Floats)>;

// The terms of a layer (graph/layer_terms.h), and the Python arrays that they view.
struct GivenTerms {
  LayerTerms terms;
  std::vector<Floats> arrays;
  std::optional<GivenRest> rest;  // nothing: not known
};

// LayerTerms, and what is known of mixings.
void bind_edges(nanobind::module_& module);

}  // namespace attnflow::python
