// Edges of a model's layers, one layer at a time: contributions, and relevance for one prediction.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/explain/explain_attention.h"
#include "attnflow/graph/relevance_mixing.h"

namespace attnflow::python {

// A layer's result, which replaces its vectors.
struct EdgeLayer {
  PositiveRelevance made;  // of contributions the weights alone
  std::size_t heads = 0;
  bool causal = false;
  std::vector<double> first_shares = {};  // of contributions: as MadeEdges has them
};

// Notes on the values, collected while a report is made.
struct Notes {
  std::vector<Note> all;
};

// Names of classes or tokens, by number.
using NameOf = nanobind::typed<nanobind::callable, nanobind::str(std::int64_t)>;

// The classes or tokens that a target is compared with; none: all others.
std::optional<std::vector<std::size_t>> others_of(const ReportTarget& target);

// Consumes the layers.
MadeEdges edges_of(const std::vector<EdgeLayer*>& layers, const ReportTarget* target);

// LayerTerms, EdgeLayer, Notes, TargetChoice, Target and the functions around them.
void bind_edges(nanobind::module_& module);

}  // namespace attnflow::python
