#include "attnflow/graph/contribution_mixing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "attnflow/base/fail.h"
#include "attnflow/graph/alti_contributions.h"
#include "attnflow/graph/contribution_layer.h"
#include "attnflow/graph/ifr_contributions.h"
#include "attnflow/graph/norm_contributions.h"
#include "attnflow/graph/remove_weights.h"
#include "attnflow/graph/value_zeroing.h"

namespace attnflow {
namespace {

struct KeptPositions {
  std::size_t count = 0;
  std::vector<float> values;  // [position, key-value head, width]
  internal::GramBlocks grams;
};

void make_proportions(TensorView<double> rows, std::size_t layer, std::size_t query_begin, Contribution contribution) {
  const std::size_t positions = rows.extent(1);
  for (std::size_t q = 0; q < rows.extent(0); ++q) {
    double* row = rows.data() + q * positions;
    const double sum = std::accumulate(row, row + positions, 0.0);
    if (!(sum >= 0.0 && std::isfinite(sum))) {  // written so that NaN fails
      fail_with(ErrorKind::kBadFile,
                "mixing {}: expected contributions that are finite in layer {}, found a sum of {} at "
                "position {}; the model's weights overflow in float32",
                contribution_name(contribution), layer, sum, query_begin + q);
    }
    if (sum > 0.0) {
      for (std::size_t k = 0; k < positions; ++k) row[k] /= sum;
    } else {
      row[query_begin + q] = 1.0;
    }
  }
}

void remove_from(Tensor<double>& rows, std::size_t query_begin, Contribution contribution,
                 const WeightRemoval& removal) {
  const bool spares = residual_rule(contribution) == ResidualRule::kContained;
  internal::remove_and_renormalize(rows, removal, spares ? internal::Diagonal::kStays : internal::Diagonal::kGoes,
                                   query_begin);
}

void check_needs(const LayerTerms& terms, Contribution method) {
  if (method == Contribution::kGlobenc && terms.norm.scale.empty()) {
    fail_with(ErrorKind::kUnsupportedModel,
              "mixing globenc: expected layers with a norm after attention and one after the "
              "feed-forward network, as in BERT, found layer {} without; choose --mixing norm or alti",
              terms.layer);
  }
  if (method == Contribution::kValueZeroing && !terms.rest) {
    fail_with(ErrorKind::kUnsupportedModel,
              "mixing value-zeroing: expected a backend that computes the rest of a layer separately, found none "
              "for layer {}; choose --mixing norm, alti or attention",
              terms.layer);
  }
}

internal::FoldedNorms folded_norms(Contribution method) {
  if (method == Contribution::kValueZeroing) return internal::FoldedNorms::kNone;
  return method == Contribution::kGlobenc ? internal::FoldedNorms::kBoth : internal::FoldedNorms::kFirst;
}

}  // namespace

const char* contribution_name(Contribution contribution) {
  constexpr std::array kNames = {"norm", "globenc", "alti", "ifr", "value-zeroing"};  // in the order of Contribution
  return kNames[static_cast<std::size_t>(contribution)];
}

ResidualRule residual_rule(Contribution contribution) {
  return contribution == Contribution::kValueZeroing ? ResidualRule::kConvex : ResidualRule::kContained;
}

struct ContributionRows::State {
  std::size_t layers = 0;
  ContributionOptions options;
  bool in_chunks = false;
  std::vector<KeptPositions> kept;  // by layer

  Tensor<double> contributions(const LayerTerms& terms, KeptPositions& before) const;
};

// c_ij before rows are divided by their sums. `before`: data kept from earlier chunks, to which this chunk's is added.
Tensor<double> ContributionRows::State::contributions(const LayerTerms& terms, KeptPositions& before) const {
  const Contribution method = options.contribution;
  check_needs(terms, method);
  internal::ContributionLayer layer =
      internal::contribution_layer(terms, folded_norms(method), contribution_name(method), options.threads);
  if (method == Contribution::kNorm || method == Contribution::kGlobenc) {
    return internal::norm_contributions(layer, before.grams);
  }
  if (in_chunks) {
    before.values.insert(before.values.end(), terms.values.span().begin(), terms.values.span().end());
    layer.values = before.values.data();
    layer.value_begin = 0;
  }
  if (method == Contribution::kAlti) return internal::alti_contributions(layer);
  if (method == Contribution::kIfr) return internal::ifr_contributions(layer);
  return internal::value_zeroing(terms, layer);
}

ContributionRows::ContributionRows(std::size_t layers, ContributionOptions options, bool in_chunks)
    : state_(std::make_unique<State>()) {
  state_->layers = layers;
  state_->options = std::move(options);
  state_->in_chunks = in_chunks;
  state_->kept.resize(layers);
}
ContributionRows::~ContributionRows() = default;
ContributionRows::ContributionRows(ContributionRows&&) noexcept = default;
ContributionRows& ContributionRows::operator=(ContributionRows&&) noexcept = default;

Tensor<double> ContributionRows::rows(const LayerTerms& terms) {
  const ContributionOptions& options = state_->options;
  const char* name = contribution_name(options.contribution);
  if (terms.layer < 1 || terms.layer > state_->layers)
    fail_with(ErrorKind::kOther, "mixing {}: expected layers 1 to {}, found {}", name, state_->layers, terms.layer);
  KeptPositions& kept = state_->kept[terms.layer - 1];
  if (terms.query_begin != kept.count) {
    fail_with(ErrorKind::kOther, "mixing {}: expected layer {} {} at position {}, found queries from {}", name,
              terms.layer, state_->in_chunks ? "to go on" : "to come whole, beginning", kept.count, terms.query_begin);
  }
  Tensor<double> rows = state_->contributions(terms, kept);
  if (state_->in_chunks) {
    kept.count += rows.extent(0);
  } else {
    kept = {};
  }
  make_proportions(rows.view(), terms.layer, terms.query_begin, options.contribution);
  if (!state_->in_chunks) {
    remove_from(rows, 0, options.contribution, options.removal);
  } else {
    WeightRemoval seen{.mask_columns = options.removal.mask_columns};
    std::erase_if(seen.mask_columns, [&rows](std::size_t k) { return k >= rows.extent(1); });
    remove_from(rows, terms.query_begin, options.contribution, seen);
  }
  return rows;
}

ContributionGraphSink::ContributionGraphSink(std::size_t layers, ContributionOptions options, std::size_t tokens)
    : layers_(layers),
      tokens_(tokens),
      options_(std::move(options)),
      rows_(layers, options_, tokens != 0),
      seen_(layers, 0) {
  check_residual(options_.residual);
  if (tokens != 0 && options_.removal.discard > 0.0) {
    throw Error(
        ErrorKind::kUsage,
        "discard: expected whole layers, whose smallest weights it drops, found chunks of queries; remove --discard");
  }
}

void ContributionGraphSink::terms(const LayerTerms& terms) {
  const char* name = contribution_name(options_.contribution);
  const std::size_t queries = terms.attention.rank() == 3 ? terms.attention.extent(1) : 0;
  const std::size_t end = terms.query_begin + queries;
  const std::size_t n = tokens_ != 0 ? tokens_ : graph_.weights.empty() ? end : graph_.tokens();
  internal::check_removal(options_.removal, n);
  if (end > n || (tokens_ == 0 && end != n) ||
      (tokens_ == 0 && terms.layer <= layers_ && terms.layer >= 1 && seen_[terms.layer - 1] != 0)) {
    fail_with(ErrorKind::kOther,
              "mixing {}: expected {} tokens in every layer, each once, found queries {} "
              "to {} of layer {}",
              name, n, terms.query_begin, end, terms.layer);
  }
  const Tensor<double> rows = rows_.rows(terms);
  if (graph_.weights.empty()) {
    graph_.weights = Tensor<double>({layers_, n, n});
    graph_.residual = options_.residual;
    graph_.residual_rule = residual_rule(options_.contribution);
  }
  for (std::size_t q = 0; q < queries; ++q) {
    std::copy_n(rows.data() + q * end, end,
                graph_.weights.data() + ((terms.layer - 1) * n + terms.query_begin + q) * n);
  }
  seen_[terms.layer - 1] += queries;
}

void ContributionGraphSink::layer(std::size_t layer, std::size_t /*query_begin*/,
                                  TensorView<const float> /*attention*/) {
  fail_with(ErrorKind::kUnsupportedModel,
            "mixing {}: expected values, residuals and the output projection of layer {}, found attention "
            "alone; the backend of this model provides nothing else. Choose --mixing attention, which needs "
            "nothing else",
            contribution_name(options_.contribution), layer);
}

AttentionGraph contribution_graph(TensorView<const double> contributions, const ContributionOptions& options) {
  const char* name = contribution_name(options.contribution);
  if (contributions.rank() != 3 || contributions.empty() || contributions.extent(1) != contributions.extent(2)) {
    fail_with(ErrorKind::kBadFile,
              "mixing {}: expected contributions [layer, query, key] of as many queries as keys, found {}", name,
              shape_to_string(contributions.shape()));
  }
  const std::size_t n = contributions.extent(1);
  internal::check_removal(options.removal, n);
  AttentionGraph graph;
  graph.weights = Tensor<double>(contributions.shape());
  graph.residual = options.residual;
  graph.residual_rule = residual_rule(options.contribution);
  for (std::size_t l = 0; l < contributions.extent(0); ++l) {
    const auto layer = contributions[l].span();
    for (std::size_t e = 0; e < layer.size(); ++e) {
      if (layer[e] >= 0.0 && std::isfinite(layer[e])) continue;  // written so that NaN fails
      fail_with(ErrorKind::kBadFile,
                "mixing {}: expected contributions that are finite and at least 0, found {} at layer {}, "
                "query {}, key {}",
                name, layer[e], l + 1, e / n, e % n);
    }
    Tensor<double> rows({n, n}, {layer.begin(), layer.end()});
    make_proportions(rows.view(), l + 1, 0, options.contribution);
    remove_from(rows, 0, options.contribution, options.removal);
    std::copy_n(rows.data(), n * n, graph.weights[l].data());
  }
  return graph;
}

AttentionGraph ContributionGraphSink::take() {
  const char* name = contribution_name(options_.contribution);
  if (graph_.weights.empty()) {
    fail_with(ErrorKind::kUnsupportedModel,
              "mixing {}: expected values, residuals and the output projection of {} layers, found none; "
              "the backend of this model does not provide them. Choose --mixing attention, which needs "
              "no more",
              name, layers_);
  }
  for (std::size_t l = 0; l < layers_; ++l) {
    if (seen_[l] != graph_.tokens()) {
      fail_with(ErrorKind::kOther, "mixing {}: expected {} positions in every layer, found {} in layer {}", name,
                graph_.tokens(), seen_[l], l + 1);
    }
  }
  seen_.assign(layers_, 0);
  return std::exchange(graph_, {});
}

}  // namespace attnflow
