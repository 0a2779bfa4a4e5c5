// Pictures of a generation: what generated tokens drew on in the prompt.
//
// Every picture exists as svg (text stays text, parts have stable ids, cells have tooltips), pdf and png, and looks the
// same in all three. It says the model, the method, which layers are averaged and which token is shown, and which share
// of the mass lies on generated tokens and on those that rankings leave out: these stand in their place, hatched, and
// do not set the scale. The first token and special ones, where decoders park what they do not need, do not set it
// either when they lie far above the rest: cells above the scale have a white corner, and the legend gives the largest.
//
// Pictures are at most 900 pixels wide and of bounded height: of a very long text the middle is left out, and cells of
// a very large matrix are drawn together, which the picture says.
//
// Same report and options, same bytes (with the same fonts installed).
#ifndef ATTNFLOW_DRAW_GENERATION_FIGURE_H_
#define ATTNFLOW_DRAW_GENERATION_FIGURE_H_

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/report/generation_report.h"

namespace attnflow {

enum class GenerationView {
  kOverview,  // the text with the prompt coloured for one token, its layers, and all tokens
  kTokens,    // generated tokens x prompt tokens, mean over layers; `token` is marked
  kLayers,    // layers x prompt tokens, for one generated token
  kStrip,     // the prompt coloured for one generated token
};

struct GenerationFigureOptions {
  GenerationView view = GenerationView::kOverview;
  std::optional<Method> method;           // absent: rollout where there is, else the report's first
  std::optional<std::size_t> token = {};  // the generated token shown; absent: all of them, as their mean
  std::vector<std::size_t> layers = {};   // averaged over, and shown by `layers`; empty: all that the report has
  bool normalized = false;                // the values after receptive-field normalisation
};

// "overview", "tokens", "layers" or "strip"; nothing for any other name.
std::optional<GenerationView> generation_view_from_name(const std::string& name);

// The picture as the bytes of a file. Throws Error(kUsage) for a method, token or layer that the report has no values
// of, Error(kBadFile) for a report without tokens or whose arrays do not fit them, Error(kOther) when cairo failed.
std::string generation_figure_svg(const GenerationReport& report, const GenerationFigureOptions& options = {});
std::string generation_figure_pdf(const GenerationReport& report, const GenerationFigureOptions& options = {});
std::string generation_figure_png(const GenerationReport& report, const GenerationFigureOptions& options = {});

// Writes a picture in the kind that the path ends in: .svg, .pdf or .png (Error(kUsage) for any other). The file is
// complete or absent.
void write_generation_figure(const std::filesystem::path& path, const GenerationReport& report,
                             const GenerationFigureOptions& options);

}  // namespace attnflow

#endif  // ATTNFLOW_DRAW_GENERATION_FIGURE_H_
