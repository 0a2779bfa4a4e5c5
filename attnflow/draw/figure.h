// Figures from a report: what one would put in a paper.
//
// Every figure exists as svg (text stays text, parts have stable ids, cells have tooltips), pdf and png, and looks the
// same in all three. Values become colours of one sequential scale, from 0 to the largest value shown, that survives
// colour blindness and grey print; every panel carries its scale. Words are those of the user's own text where the
// report has it.
//
// Views:
//   graph     the information-flow graph of Abnar & Zuidema (ACL 2020), figure 1: layers from the input tokens at the
//             bottom to the output at the top, arcs by the mixing matrix A_l = (1 - rho) W_l + rho I (panels raw and
//             flow) or by the share of the output token's rollout that runs through them (panel rollout)
//   heatmap   layer x input token for one output token (their figures 2 and 3)
//   strip     the running text, every token on a ground of its value
//   matrix    output token x input token
//   referents bars of the referents' shares in an output token's weights, by layer, after the candidates' probabilities
//             (their figure 4); of reports that have referents
//   overview  strip, heatmap, and graph (up to 32 tokens) or matrix, on one page
//
// Of a generation outputs are generated tokens and inputs those of the prompt; one method is shown, as the mean over
// its layers and, where no token is chosen, over the generated tokens. The figure says which share lies on generated
// tokens and on those that rankings exclude: these stand in their place, hatched, and do not set the scale. Of a very
// long text the middle is left out, and cells of a very large matrix are drawn together, which the figure says.
//
// Same report and options, same bytes (with the same fonts installed): no clock, no locale, no random order.
#ifndef ATTNFLOW_DRAW_FIGURE_H_
#define ATTNFLOW_DRAW_FIGURE_H_

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/draw/paper.h"
#include "attnflow/report/report.h"

namespace attnflow {

enum class FigureView { kOverview, kGraph, kHeatmap, kStrip, kMatrix, kReferents };

// "overview", "graph", "heatmap", "strip", "matrix" or "referents"; nothing for any other name.
std::optional<FigureView> figure_view_from_name(const std::string& name);

struct FigureOptions {
  FigureView view = FigureView::kOverview;
  // A position; the report's output token when absent. Of a generation: the number of a generated token, from 0; the
  // mean over all when absent.
  std::optional<std::size_t> output_token;
  std::optional<bool> all_output_tokens;  // graph: arcs of all output tokens; as the report says when absent
  // graph: the strongest arcs of each node to other tokens (kArcsPerNode of attribution/graph_arcs.h when absent)
  std::optional<std::size_t> arcs_per_node;
  bool every_arc = false;           // graph: all arcs that are not too weak, also those from a token to itself
  std::vector<std::size_t> layers;  // looked at, as their mean; empty: the last, or all of a generation
  // Of raw, rollout, flow. Empty: all that the report holds, or of a generation rollout where there is, else the first.
  std::vector<Method> methods;
  bool normalized = false;  // of a generation: the values after receptive-field normalization
  // Special tokens, a decoder's first one, and what an output token draws on itself, do not set the top of a scale that
  // they lie far above (color_scale.h). Cells above the top are marked, and the legend says how large they are.
  bool exclude_special_from_scale = true;
  bool title = true;                   // model, settings and prediction at the top
  bool notes = true;                   // the report's notes at the bottom, and what the panels show below them
  Length width = 900.0;                // of the file; see paper.h
  double font_size = kLabelPoints;     // of labels, scales and captions, in points
  double png_scale = 2.0;              // image pixels to one of 1/96 inch; on paper the png has 300 to an inch
  std::string id_prefix = "attnflow";  // of the ids in svg; letters, digits, '-' and '_'

  void set(const PaperOptions& paper);
};

// The figure as the bytes of a file. Throws Error(kUsage): an output token, layer or method that the report does not
// hold, a graph or referents asked of a report without any, an option out of its range, a
// width that the figure does not fit into; Error(kBadFile): a report
// without tokens or with arrays whose shapes do not fit its tokens and layers; Error(kOther): cairo failed.
std::string figure_svg(const Report& report, const FigureOptions& options = {});
std::string figure_pdf(const Report& report, const FigureOptions& options = {});
std::string figure_png(const Report& report, const FigureOptions& options = {});

// Writes a figure in the kind that the path ends in: .svg, .pdf or .png (Error(kUsage) for any other). The file is
// complete or absent.
void write_figure(const std::filesystem::path& path, const Report& report, const FigureOptions& options = {});

}  // namespace attnflow

#endif  // ATTNFLOW_DRAW_FIGURE_H_
