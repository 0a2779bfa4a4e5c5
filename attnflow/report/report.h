// The report document: the one thing that an analysis produces and every view reads.
//
// A Report is a plain value, independent of any model. JSON (docs/report-format.md), CSV, array files, the terminal
// table, pictures and the HTML page are all written from it.
//
// Example:
//
//     Report report;
//     report.model = {.name = "tiny", .architecture = "bert", .layers = 6, .heads = 2};
//     report.settings.methods = {Method::kRollout};
//     report.settings.layers = {6};
//     report.input.tokens = input.tokens;  // attribution/input.h
//     report.output_tokens = {0};
//     report.rollout = Tensor<double>({1, 1, 6}, rollout_row(attention_graph(stack), 0, 6));
//     std::fputs(terminal_table(report).c_str(), stdout);  // or any other output
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/input.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/flow/pair_flow.h"
#include "attnflow/report/report_scores.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// The document version that is written, and the newest that is read.
inline constexpr int kReportVersion = 3;

struct ReportModel {
  std::string name;          // file or folder name, or "" for an array file
  std::string architecture;  // "bert", ...; "" for an array file
  std::size_t layers = 0;
  std::size_t heads = 0;
  bool causal = false;  // no weight above the diagonal
};

// The picture given to an image model. Positions are pixels from its upper left corner: pixel (x, y) covers [x, x + 1]
// x [y, y + 1]; x goes right, y down.
struct ReportImage {
  std::string name;       // of the file
  std::size_t width = 0;  // upright, as people see it
  std::size_t height = 0;
  // The patch at row r and column c is token first_patch + r columns + c. It covers its part of the grid, which lies
  // over [left, right] x [top, bottom] of the picture (beyond its borders where black was padded).
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t first_patch = 0;
  double left = 0.0;
  double top = 0.0;
  double right = 0.0;
  double bottom = 0.0;
  // Pixels given to the model for the grid, after resizing and cropping. 0: unknown (an older report).
  std::size_t input_width = 0;
  std::size_t input_height = 0;
  std::size_t input_channels = 0;  // 1: gray
  // The picture as views show it: a PNG file, possibly reduced.
  std::string png;
  std::size_t png_width = 0;
  std::size_t png_height = 0;
};

struct ReportInput : InputText {
  std::optional<ReportImage> image = {};  // kind image
};

struct ReportChoice {
  std::string label;
  double probability = 0.0;
  std::optional<std::int64_t> id = {};  // begins a branch from a generated token
};

struct ReportPrediction {
  std::string kind;  // classification, token-class, answer (parts of the pair), masked, next (the token that follows)
  // token-class: the token's; answer: of the first part's first token; masked: the position of the mask; next: the last
  std::optional<std::size_t> position;
  std::vector<ReportChoice> choices;     // by falling probability
  std::vector<ReportChoice> candidates;  // masked, next: the words asked for, in the order asked
};

struct ReportOther {
  std::string label;  // as in ReportTarget
  std::size_t index = 0;
  double logit = 0.0;
};

// The comparison for an output: one other output, several, or all others.
struct ReportAgainst {
  std::string label = {};                 // of one
  std::optional<std::size_t> index = {};  // of one
  double logit = 0.0;                     // a mean, unless of one
  std::vector<ReportOther> others = {};   // several

  bool is_rest() const { return !index && others.empty(); }
  std::vector<std::size_t> indices() const {  // none: all others
    std::vector<std::size_t> all;
    if (index) all.push_back(*index);
    for (const ReportOther& other : others) all.push_back(other.index);
    return all;
  }
};

// The explained output, for mixings and methods that are specific to one.
struct ReportTarget {
  // class; answer (that begins with a token); next (the token that follows `position`); masked (that at `position`)
  std::string kind;
  std::string label;      // the class's name, or the token for people
  std::size_t index = 0;  // the class's number, the token's id, or of an answer its position
  double logit = 0.0;
  std::optional<std::size_t> position = {};
  std::optional<ReportAgainst> against = {};  // absent: the logit alone was explained

  double value() const { return against ? logit - against->logit : logit; }
};

// An input word whose weight is compared with that of others (nouns that a masked pronoun may refer to).
struct ReportReferent {
  std::string text;                 // as the user wrote it
  std::vector<std::size_t> tokens;  // its positions in ReportInput::tokens, increasing; one with settings.words
};

// The arc (layer, from) -> (layer - 1, to) of the attention graph, in a cut.
struct ReportCutArc {
  std::size_t layer = 0;
  std::size_t from = 0;
  std::size_t to = 0;
  double capacity = 0.0;
};

// The flow of one pair and its proof (flow/pair_flow.h): never normalized, and between tokens, not words. Layers are
// those of the attention graph. FlowCertificate holds the result of the check: the maximum is at least `low` and at
// most `high`.
struct ReportCertificate : FlowCertificate {
  std::size_t layer = 0;
  std::size_t start_layer = 0;
  std::size_t output_token = 0;
  std::size_t input_token = 0;
  double flow = 0.0;
  double flow_gap = 0.0;
  std::vector<CutShare> cut_shares;       // every layer, from the top down
  bool only_minimum_cut = false;          // no other cut is as small
  std::vector<ReportCutArc> minimum_cut;  // the one nearest the output token
  int unit_exponent = 0;
  std::vector<FlowArc> arc_flows;  // a maximum flow, in units of 2^-unit_exponent
  // Whether it proves [flow, flow + flow_gap].
  bool holds() const { return FlowCertificate::holds() && problem.empty() && low >= flow && high <= flow + flow_gap; }
};

struct GeneratedToken {
  std::int64_t id = 0;
  std::string text;                   // the piece as the tokenizer spells it
  std::size_t begin = 0;              // byte range in Generation::text; whole characters: the pieces of one emoji
  std::size_t end = 0;                //   all have its range. Empty for special tokens
  bool special = false;               // an end or another token that adds no text
  double probability = 0.0;           // of this token, before temperature and cuts
  std::vector<ReportChoice> choices;  // the most probable tokens, by falling probability
  // For mixings made for one prediction: this token, by default rather than the ten most probable others.
  std::optional<ReportTarget> target = {};
  // How its maps agree with blanking the prompt's tokens one by one; absent if none were blanked.
  std::optional<ReportCheck> check = {};
};

struct SamplingSettings {
  double temperature = 0.0;  // 0: the most probable token
  double top_p = 1.0;
  std::uint64_t seed = 1;
};

struct ExcludedTokens {
  std::string rule;                 // "stop words (en)", "tokens 0-3"
  std::vector<std::size_t> tokens;  // positions, increasing
};

// The text with which a decoder continued the input, its prompt, of m tokens (or words). The output at position m - 1 +
// t chose generated token t (from 0), so the token depends on that position's row, not its own, which is computed only
// for the next token. That row equals what an explanation of the prompt and the t previous tokens gives for its last
// position.
struct Generation {
  std::string text;                    // UTF-8; bytes that are no character become U+FFFD
  std::vector<GeneratedToken> tokens;  // n
  std::string stopped;                 // why it ended: "length", "end" (of text), "context", "interrupted"
  SamplingSettings sampling;
  std::size_t given = 0;                 // the first tokens, which the user chose and not the model
  bool chat = false;                     // the prompt was put into the model's chat template
  std::vector<ExcludedTokens> excluded;  // from rankings, rule by rule
  // The share of attention (mean over heads, before columns are masked) on position 0, [layer, n]. Empty for an
  // encoder-decoder.
  Tensor<double> sink_share;
};

// A generation's values of a method in addition to those on its prompt; each may be absent.
struct GenerationValues {
  Tensor<double> generated;   // [layer, output, n]: on generated token s; 0 where it came later
  Tensor<double> normalized;  // [layer, output, m]: after receptive-field normalization
};

// Values are [layer, output, input token]: first dimension as settings.layers, last as input.tokens. A method that was
// not requested has an empty tensor. A generation's rows of raw and rollout sum to less than 1 by the mass on
// previously generated tokens, whose columns GenerationValues keeps on request.
struct Report {
  Settings settings;
  ReportModel model;
  ReportInput input;
  std::vector<ReportPrediction> predictions;
  std::optional<ReportTarget> target;  // for mixings and methods made for one prediction

  std::size_t output_token = 0;                 // the output token that views show first
  bool all_output_tokens = false;               // --output-token all: views show every output token where they can
  std::vector<std::size_t> output_tokens;       // positions of the rows of raw and rollout
  std::vector<std::size_t> flow_output_tokens;  // positions of the rows of flow; a subset of output_tokens
  std::vector<std::size_t> flow_layers;         // for a generation: the layers of flow. Empty: settings.layers

  // W_l: fused (and masked, discarded) attention without the residual; with gradient mixing, gradient-weighted.
  Tensor<double> raw;
  Tensor<double> rollout;
  Tensor<double> flow;                   // certified lower end of the enclosure
  Tensor<double> flow_gap;               // upper end - lower end
  Tensor<std::uint8_t> flow_degenerate;  // 0 no, 1 the first layer's column, 2 the top row
  Tensor<float> attention;               // [layer, head, query, key] of all layers, when kept
  // [1, input token]: the paper's rollout over attention for the output token, averaged over heads, residual 0.5, of
  // the layers that settings name, where a pass back made the matrices of something else. Empty otherwise.
  Tensor<double> attention_rollout;

  // [L, input token]: over relevance, the share of a token's relevance in a layer that goes through the feed-forward
  // net (graph/relevance_mixing.h), where the model tells. Empty otherwise.
  Tensor<double> feed_forward;

  // The weights of every layer 1..L for pictures of the graph, [L, n, n] (query, key), without the residual: equal to
  // `raw` if all layers were requested and heads is not a single head.
  Tensor<double> graph;

  std::vector<MethodScores> scores;  // from methods outside the graph, in the order of settings.methods
  std::optional<ReportCheck> check;  // what the prediction depends on, and what the maps say of it
  std::optional<ReportCurve> curve;  // of a picture's best map, if there was time for it

  std::vector<ReportCertificate> certificates;  // for the requested pairs
  std::vector<ReportReferent> referents;        // the words asked for, in the order asked

  std::optional<Generation> generation;  // input.kind generation: output_tokens are m - 1, m, ...
  GenerationValues raw_beside, rollout_beside, flow_beside;

  std::vector<Note> notes;
};

std::optional<std::size_t> layer_index(const Report& report, std::size_t layer);
// Index in `output_tokens` (report.output_tokens or report.flow_output_tokens), or nothing.
std::optional<std::size_t> row_index(const std::vector<std::size_t>& output_tokens, std::size_t token);
// A method's array with the positions of its rows, its layers, and a generation's additional values.
struct MethodValues {
  const Tensor<double>* values;
  const std::vector<std::size_t>* output_tokens;
  const std::vector<std::size_t>* layers;
  const GenerationValues* beside;
};
MethodValues method_values(const Report& report, Method method);  // for one that aggregates
// Those of settings.methods that aggregate and have values, in order.
std::vector<Method> methods_present(const Report& report);
// The one of `present`, which is not empty, that views show first: over relevance flow, otherwise rollout
// (docs/edges.md has the evidence), as in generations, where flow may be of a few tokens only; if absent, the next
// best.
Method leading_method(const Report& report, const std::vector<Method>& present);

const MethodScores* method_scores(const Report& report, Method method);

// The generated token that the output at `position` chose.
std::size_t chosen_token(const Report& report, std::size_t position);
// The index of the scored prediction for the output at `position`: a generation's token, else the only one.
std::size_t scored_prediction(const Report& report, std::size_t position);
// A generated token's label: its characters, else the piece; a part of a character as in display_text().
std::string generated_text(const Generation& generation, std::size_t token);

}  // namespace attnflow
