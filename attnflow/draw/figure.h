// Figures from a report, in publication quality.
//
// Every figure is available as SVG (text stays text, parts have stable ids, cells have tooltips), PDF and PNG, and
// looks the same in all three. Each panel has a sequential scale from 0 that survives color blindness and grayscale
// printing. Special tokens, a decoder's first token and an output token's own value do not set its top if they far
// exceed it (color_scale.h): such cells are marked, and the legend gives their values. Words are those of the user's
// text if the report has it.
//
// Views:
//   answer    what every surface says first (report/report_answer.h): the headline; the text colored by the best map
//   and,
//             below it, by what the prediction loses without each token; the verdicts on that map; the text colored by
//             the paper's attention, if the report has it. The default where a prediction was explained
//   graph     the information-flow graph of Abnar & Zuidema (ACL 2020), figure 1: layers from the input tokens at the
//             bottom to the output at the top, arcs by the mixing matrix A_l = (1 - rho) W_l + rho I (panels raw and
//             flow) or by the share of the output token's rollout that runs through them (panel rollout)
//   heatmap   layer x input token for one output token (figures 2 and 3 of the paper)
//   strip     the running text, with every token on a background colored by its value, for each method, and by the
//             check's drops
//   matrix    output token x input token
//   referents bars of the referents' shares in an output token's weights, by layer, after the candidates' probabilities
//             (figure 4 of the paper); for reports that have referents
//   overview  strip, heatmap, and graph (up to 32 tokens) or matrix, on one page. The default otherwise: for attention
//             alone, for all output tokens, for a generation, and where a token, layers or methods were chosen
//
// For a generation, outputs are generated tokens and inputs are prompt tokens; one method is shown, as the mean over
// its layers and, if no token is chosen, over the generated tokens. The figure states the shares on generated tokens
// and on those excluded from rankings, which stay in place, hatched, and do not set the scale. A very long text loses
// its middle, and a very large matrix has merged cells; the figure says so.
//
// The same report, options and fonts give the same bytes, independent of clock and locale.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/option_names.h"
#include "attnflow/draw/paper.h"
#include "attnflow/report/report.h"

namespace attnflow {

enum class FigureView { kAnswer, kOverview, kGraph, kHeatmap, kStrip, kMatrix, kReferents };

// "answer", "overview", ...: every view, in their order.
std::vector<std::string> figure_view_names();

// Returns nothing for an unknown name.
std::optional<FigureView> figure_view_from_name(const std::string& name);

struct FigureOptions {
  std::optional<FigureView> view = {};  // absent: answer or overview, as above
  // A position; absent: the report's output token. For a generation: a generated token's number, from 0; absent: the
  // mean over all.
  std::optional<std::size_t> output_token;
  std::optional<bool> all_output_tokens;  // graph: arcs of all output tokens; absent: as in the report
  // graph: strongest arcs per node to other tokens (absent: kArcsPerNode of attribution/graph_arcs.h)
  std::optional<std::size_t> arcs_per_node;
  bool every_arc = false;           // graph: all arcs that are not too weak, including those from a token to itself
  std::vector<std::size_t> layers;  // shown as their mean; empty: the last layer, or all for a generation
  // Among raw, rollout and flow. Empty: all in the report; for a generation: rollout if available, else the first.
  std::vector<Method> methods;
  bool normalized = false;          // for a generation: the values after receptive-field normalization
  bool notes = true;                // model, settings and prediction at the top, the report's notes, panels' captions
  Length width = 900.0;             // of the file; see paper.h
  double font_size = kLabelPoints;  // of labels, scales and captions, in points
  OptionNames option_names = OptionNames::kShell;  // in notes

  void set(const PaperOptions& paper);
};

// Return the bytes of a file. Throw Error(kUsage) for an output token, layer or method that the report lacks, a graph
// or referents from a report without any, an option out of range, and a width that the figure does not fit into;
// Error(kBadFile) for a report without tokens or with arrays whose shapes do not match its tokens and layers;
// Error(kOther) when cairo fails.
std::string figure_svg(const Report& report, const FigureOptions& options = {});
std::string figure_pdf(const Report& report, const FigureOptions& options = {});
std::string figure_png(const Report& report, const FigureOptions& options = {});

// Writes .svg, .pdf or .png by the path's extension (Error(kUsage) for any other). The file is complete or absent.
void write_figure(const std::filesystem::path& path, const Report& report, const FigureOptions& options = {});

}  // namespace attnflow
