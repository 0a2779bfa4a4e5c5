// Edges of a model's layers, made one layer at a time of what Python hands over: contributions, and relevance for one
// prediction.
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

// What a layer became, in place of its vectors.
struct EdgeLayer {
  PositiveRelevance made;  // of contributions the weights alone
  std::size_t heads = 0;
  bool causal = false;
  std::vector<double> first_shares = {};  // of contributions: as MadeEdges has them
};

// What is to be said of the values, collected while a report is made.
struct Notes {
  std::vector<Note> all;
};

// What numbers of classes or tokens are called.
using NameOf = nanobind::typed<nanobind::callable, nanobind::str(std::int64_t)>;

// What a target is compared with: the number of a class or token, or -1, the mean of all others.
std::optional<std::int64_t> other_of(const ReportTarget& target);

// The layers are used up.
MadeEdges edges_of(const std::vector<EdgeLayer*>& layers, const ReportTarget* target);

// LayerTerms, EdgeLayer, Notes, TargetChoice, Target and the functions around them.
void bind_edges(nanobind::module_& module);

}  // namespace attnflow::python
