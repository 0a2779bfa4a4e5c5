// The report document: the one thing that an analysis produces and every view reads.
//
// A Report is a plain value. JSON (docs/report-format.md), CSV, array files, the terminal table, pictures
// and the html page are all written from it; none of them sees a model.
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
#ifndef ATTNFLOW_REPORT_REPORT_H_
#define ATTNFLOW_REPORT_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/input.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/flow/pair_flow.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Of the document: what is written, and the newest that is read.
inline constexpr int kReportVersion = 3;

struct ReportModel {
  std::string name;          // file or folder name, or "" for an array file
  std::string architecture;  // "bert", ...; "" for an array file
  std::size_t layers = 0;
  std::size_t heads = 0;
  bool causal = false;  // no weight above the diagonal
};

// The picture that an image model was given. Positions in it are pixels from its upper left corner, pixel (x, y)
// covering [x, x + 1] x [y, y + 1]; x goes right, y down.
struct ReportImage {
  std::string name;       // of the file
  std::size_t width = 0;  // upright, as people see it
  std::size_t height = 0;
  // The patch of row r and column c is token first_patch + r columns + c. It covers its part of the grid, which lies
  // over [left, right] x [top, bottom] of the picture (beyond its borders where black was put around it).
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t first_patch = 0;
  double left = 0.0;
  double top = 0.0;
  double right = 0.0;
  double bottom = 0.0;
  // The pixels that the model was given for the grid, after resizing and cropping. 0: not known (a report of before).
  std::size_t input_width = 0;
  std::size_t input_height = 0;
  std::size_t input_channels = 0;  // 1: grey
  // What views show: the picture as a PNG file, possibly made smaller.
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
};

// What the model said beside where it looked.
struct ReportPrediction {
  std::string kind;                      // classification, masked, next (the token that follows)
  std::optional<std::size_t> position;   // masked: the position of the mask; next: the last one
  std::vector<ReportChoice> choices;     // by falling probability
  std::vector<ReportChoice> candidates;  // masked, next: the words asked for, in the order asked
};

// The output whose gradient the attention was weighted with.
struct ReportTarget {
  std::string kind;       // class, or next (the token that follows the last position)
  std::string label;      // the class's name, or the token for people
  std::size_t index = 0;  // the class's number, or the token's id
  double logit = 0.0;     // the score whose gradient was taken
};

// A word of the input whose weight is compared with that of others (the nouns that a masked pronoun may refer to).
struct ReportReferent {
  std::string text;                 // as the user wrote it in the text
  std::vector<std::size_t> tokens;  // its positions in ReportInput::tokens, increasing; one with settings.words
};

// The arc (layer, from) -> (layer - 1, to) of the attention graph, in a cut.
struct ReportCutArc {
  std::size_t layer = 0;
  std::size_t from = 0;
  std::size_t to = 0;
  double capacity = 0.0;
};

// The flow of one pair and its proof (flow/pair_flow.h): never normalised, and between tokens, not words. Layers are
// those of the attention graph. What checking the proof said is the FlowCertificate: the maximum is at least `low` and
// at most `high`.
struct ReportCertificate : FlowCertificate {
  std::size_t layer = 0;
  std::size_t to_layer = 0;
  std::size_t output_token = 0;
  std::size_t input_token = 0;
  double flow = 0.0;
  double flow_gap = 0.0;
  std::vector<CutShare> cut_shares;       // every layer, from the top down
  bool only_minimum_cut = false;          // no other cut is as small
  std::vector<ReportCutArc> minimum_cut;  // the one nearest the output token
  int unit_exponent = 0;
  std::vector<FlowArc> arc_flows;  // a maximum flow, in units of 2^-unit_exponent
  // The proof is one of [flow, flow + flow_gap].
  bool holds() const { return FlowCertificate::holds() && problem.empty() && low >= flow && high <= flow + flow_gap; }
};

// Values are [layer, output_token, input_token]: first dimension as settings.layers. A method that was not asked for
// has an empty tensor. n is input.tokens.size().
struct Report {
  Settings settings;
  ReportModel model;
  ReportInput input;
  std::vector<ReportPrediction> predictions;
  std::optional<ReportTarget> target;  // with gradient mixing

  std::size_t output_token = 0;                 // the output token that views show first
  bool all_output_tokens = false;               // --output-token all: views show every output token where they can
  std::vector<std::size_t> output_tokens;       // positions of the rows of raw and rollout
  std::vector<std::size_t> flow_output_tokens;  // positions of the rows of flow; a subset of output_tokens

  // W_l: fused (and discarded, set aside) attention without the residual; with gradient mixing, gradient-weighted.
  Tensor<double> raw;
  Tensor<double> rollout;
  Tensor<double> flow;                   // certified lower end of the enclosure
  Tensor<double> flow_gap;               // upper end - lower end
  Tensor<std::uint8_t> flow_degenerate;  // 0 no, 1 the first layer's column, 2 the top row
  Tensor<float> attention;               // [layer, head, query, key] of all layers, when kept

  // The weights of every layer 1..L that the pictures of the graph draw, [L, n, n] (query, key), without the residual:
  // equal to `raw` when all layers were asked for and heads is not a single head.
  Tensor<double> graph;

  std::vector<ReportCertificate> certificates;  // of the pairs asked for
  std::vector<ReportReferent> referents;        // the words asked for, in the order asked

  std::vector<Note> notes;
};

// Position of `layer` in settings.layers, or nothing.
std::optional<std::size_t> layer_index(const Report& report, std::size_t layer);
// Position of `token` in `output_tokens` (report.output_tokens or report.flow_output_tokens), or nothing.
std::optional<std::size_t> row_index(const std::vector<std::size_t>& output_tokens, std::size_t token);
// The array of a method with the positions of its rows.
struct MethodValues {
  const Tensor<double>* values;
  const std::vector<std::size_t>* output_tokens;
};
MethodValues method_values(const Report& report, Method method);

}  // namespace attnflow

#endif  // ATTNFLOW_REPORT_REPORT_H_
