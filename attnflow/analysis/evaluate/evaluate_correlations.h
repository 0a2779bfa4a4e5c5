// How well do raw attention, rollout and flow agree with importance scores? The tables of Abnar & Zuidema (2020,
// sections 4 and 5), for any classifier and any labeled sentences.
//
// Problem. For each sample, each method gives the input tokens a relevance at each layer (evaluate/relevance.h), and
// each importance score (evaluate/importance.h) gives them an importance. How far do their orders agree, on average
// over samples, and does one method agree better than another?
//
// Method. Spearman's correlation (evaluate/rank_correlation.h) over tokens, for each sample and cell; then mean,
// standard deviation, bootstrap interval and paired tests over samples (evaluate/statistics.h). A cell is a choice of
//
//     relevance   row (the output token's values), column-max, column-sum (over all output tokens)
//     score       blank-out, gradient, ... of a target
//     tokens      all, or without special tokens: CLS's own weight fades with depth, which is part of any trend
//     formula     spearman (average ranks), or dense-ranks: the formula of the paper's code, for replication
//     mixing      what the layers' matrices are made of (attribution/mixings.h)
//     method      raw, rollout, flow
//     layer
//
// Mixings for one prediction explain the class that the model gives the sample, right or wrong, as maps do by default
// (analysis/text/prediction_target.h): its logit minus the mean of the others, or, for gradient-adjusted attention,
// its logit alone, as published. So the maps that `attnflow explain` draws are measured.
//
// Methods outside the graph (attnlrp, gradient-x-input, integrated-gradients) explain the same class. They have one
// value for each token, no mixing or layer, and do not depend on `relevance`. Their absolute values are correlated,
// because importance has no sign: blank-out is how far the target moves either way.
//
// A vector of tied values orders nothing: the sample is left out of that cell and counted. Flow values closer than
// their gaps are ties.
//
// Invariants: at layer 1, flow and rollout are equal; raw attention and rollout differ there only at the output token
// for `row` (so they agree without special tokens if it is one), and rank alike for `column-sum`.
//
// Comparisons on the same samples: every two methods over one mixing, and each method over every other mixing with the
// same method over the first.
//
// Also reported: the model's accuracy on these samples with Wilson's interval; by mixing and layer, how many flow
// values are degenerate (flow/flow.h), which makes rows of a flow table flat; and the output token's share of itself
// (V[i, i], a mean over samples).
//
// Cost for N samples of n tokens: N (n + 1) sequences for blank-out, N backward passes for each target, N runs with
// attention, N backward passes for each rule of gradients that a mixing or a method outside the graph needs (52 for
// integrated-gradients), rollout and flow of N graphs for each mixing; threads share the samples. Memory: the scores,
// and one number for each cell and sample. Deterministic: same input, same bits, whatever the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_samples.h"
#include "attnflow/analysis/evaluate/evaluate_scores.h"
#include "attnflow/attribution/degeneracy.h"
#include "attnflow/attribution/note.h"
#include "attnflow/metrics/statistics.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow {

struct CorrelationOptions {
  // Uses those of OptionUse::kForCorrelations. Methods: raw, rollout, flow, attnlrp, gradient-x-input,
  // integrated-gradients.
  Settings settings;
  // Each once, not auto; empty: all that the model supports, tried on the first sample.
  std::vector<Mixing> mixings = {Mixing::kAttention};
  std::vector<std::string> scores = {"blank-out", "gradient"};
  // As parse_target() reads them. Empty: `probability` for blank-out, `difference` for gradients.
  std::vector<std::string> targets;
  std::vector<std::string> relevance = {"row"};  // row, column-max, column-sum
  std::string blank = "auto";                    // unk, mask, pad
  std::size_t samples = 0;                       // at most so many, drawn by the seed; 0: all
  std::uint64_t seed = 1;                        // of the draw, the bootstrap and the sign-flip tests
  std::size_t resamples = 10'000;
  double confidence = 0.95;
  bool truncate = false;      // samples that are too long are cut instead of left out
  bool keep_samples = false;  // CorrelationReport::samples is filled
  std::size_t threads = 0;    // 0: one per hardware thread
  PhaseStart progress = {};
  std::stop_token stop_token = {};
};

struct SampleCounts {
  std::string source;                // in words, for tables
  std::vector<std::string> sources;  // names of the documents, where there are several
  std::size_t empty_lines = 0;
  std::size_t found = 0;      // samples at hand
  std::size_t too_long = 0;   // left out: more tokens than the model has positions
  std::size_t truncated = 0;  // cut instead
  std::size_t used = 0;
  std::size_t tokens = 0;  // of the samples used, special ones included
  std::size_t special_tokens = 0;
  bool labelled = true;
  // A clause without a full stop for every accuracy on these samples, such as that the model was trained on similar
  // ones.
  std::string caveat;
};

struct Accuracy {
  std::string group;  // "" for all samples
  std::size_t correct = 0;
  std::size_t count = 0;
  Interval interval;  // Wilson's
  double share() const { return static_cast<double>(correct) / static_cast<double>(count); }
};

// A row of a table: a method over a mixing at each layer, or a method outside the graph, which has neither.
struct CorrelationSeries {
  std::string method;
  std::optional<Mixing> mixing;
  std::vector<std::size_t> layers;  // {0} beside the graph
};

struct CorrelationCell {
  std::string relevance;
  std::string score;
  std::string target;
  std::string tokens;   // all, without-special
  std::string formula;  // spearman, dense-ranks
  std::string method;
  std::size_t layer = 0;  // 0 beside the graph
  Summary summary;
  std::optional<Mixing> mixing = Mixing::kAttention;  // none beside the graph
};

// `first` minus `second`, by Spearman's correlation.
struct MethodComparison {
  std::string relevance;
  std::string score;
  std::string target;
  std::string tokens;
  std::string first;
  std::string second;
  std::size_t layer = 0;
  PairedComparison comparison;
  Mixing first_mixing = Mixing::kAttention;
  Mixing second_mixing = Mixing::kAttention;
};

struct ScoreName {
  std::string score;
  std::string target;
};

// V[i, i] of the output token i, a mean over samples.
struct OwnShare {
  std::string method;
  std::size_t layer = 0;
  double mean = 0.0;
  Mixing mixing = Mixing::kAttention;
};

struct MixingDegeneracy : DegeneracyCounts {
  Mixing mixing = Mixing::kAttention;
};

struct SampleRecord {
  std::size_t number = 0;  // among the samples at hand, from 0
  std::string text;
  std::optional<std::string> pair;
  std::string group;
  std::optional<std::size_t> label;
  std::size_t predicted = 0;
  std::size_t output_token = 0;
  std::vector<std::string> tokens;
  std::vector<bool> special;
  std::vector<std::vector<double>> scores;  // [score][token]
  // [relevance][series][layer], flattened in this order; gaps may be empty.
  std::vector<std::vector<double>> relevance;
  std::vector<std::vector<double>> gaps;
  std::vector<double> correlations;  // one for each of CorrelationReport::cells; NaN where left out
};

struct CorrelationReport {
  std::string task;            // agreement, sentiment, sentences
  CorrelationOptions options;  // as used: layers and mixings are resolved
  // Mixings that the model does not support, and why, if all are requested.
  std::map<std::string, std::string> impossible;
  ReportModel model;
  std::vector<std::string> labels;
  SampleCounts data;
  std::vector<Accuracy> accuracy;  // all samples first, then groups by name; empty without labels
  std::string blank;               // the piece that blanks; "" without blank-out
  std::size_t already_blank = 0;   // tokens that were it before
  std::vector<ScoreName> scores;   // in the order of the cells
  // By mixing and method, then those outside the graph.
  std::vector<CorrelationSeries> series;
  // Order: relevance, score, tokens, formula, series, layer, the last fastest.
  std::vector<CorrelationCell> cells;
  std::vector<MethodComparison> comparisons;
  std::vector<MixingDegeneracy> degeneracy;  // by mixing and layer, of the flow values that relevance is made of
  std::vector<OwnShare> own_share;           // by mixing, method and layer
  std::vector<Note> notes;
  std::vector<SampleRecord> samples;  // with keep_samples
};

// Throws Error(kUsage) for options that are wrong whatever the samples are. Called before a model is loaded.
void validate_options(const CorrelationOptions& options);

// Throws Error(kUnsupportedModel) unless the model has two or more exclusive classes. Called before samples are read.
void check_classifier(const ModelInfo& info);

// Throws what validate_options() and check_classifier() throw, Error(kUnsupportedModel) for a mixing or a method that
// the model does not support, Error(kInputTooLong) when every sample is too long, Error(kUsage) for no samples or
// options that do not fit them, Error(kBadFile) for a tokenizer of another model, Cancelled. `data` describes the
// samples; counts are filled in here.
CorrelationReport evaluate_correlations(Encoder& model, const Tokenizer& tokenizer,
                                        const std::vector<EvaluationSample>& samples, SampleCounts data,
                                        const CorrelationOptions& options);

}  // namespace attnflow
