// Which method finds the patches that a picture's class depends on?
//
// Problem. For many pictures, every method orders the patches by what the output token (the class token) drew on. How
// fast does the class's probability fall when patches are removed in that order, and how fast does it rise when they
// come back in it (evaluate/perturbation_curve.h)?
//
// The patches are ordered by
//
//     raw, rollout, flow   the last requested layer, over every requested mixing (attribution/mixings.h)
//     attnlrp, gradient-x-input, integrated-gradients, logit, blank-out
//                          signed scores from outside the graph: patches for the class first, those against it last
//     check                on request: what the prediction loses without each patch (check/patch_check.h)
//     random               random orders: the mean over several
//
// The class is the one that the model gives the whole picture, or by request the picture's own. Mixings and methods for
// one prediction explain it as by default (analysis/text/prediction_target.h): gradient-adjusted attention its logit
// alone, as published, everything else its logit against the mean of all others. A removed patch is blank: every pixel
// the mean that the preprocessing subtracts (0 to the model), or black, as for blank-out. Or it takes the color of its
// neighbors (image/blank_patches.h, spread_neighbors()), which leaves no edges for the model to see; blank-out, and
// what is left of a picture without any patch, is then the mean.
//
// Statistics: areas under the deletion and the insertion curve, means with bootstrap intervals over pictures, and
// paired differences from random and, on request, from rollout over gradient-adjusted attention (Chefer et al. 2021),
// the usual explanation of one class (evaluate/statistics.h). Deterministic.
//
// Cost of a picture: one forward pass and one backward pass for each rule of gradients, whatever the number of mixings
// (analysis/evaluate/mixed_graphs.h), and for each order two runs for each point of its curves.
//
// References:
//   H. Chefer, S. Gur and L. Wolf, Generic Attention-model Explainability, ICCV 2021: https://arxiv.org/abs/2103.15679
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/analysis/image/explain_image.h"
#include "attnflow/analysis/loaded_model.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/progress.h"
#include "attnflow/image/picture.h"
#include "attnflow/metrics/statistics.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Pictures that are read one at a time.
struct PictureSet {
  struct Entry {
    std::string name;
    std::optional<std::size_t> label;  // a class of the model
  };
  std::vector<Entry> entries;
  std::function<Picture(std::size_t)> read;
  std::string source;  // for messages and reports
};

enum class PictureBlank { kMean, kBlack, kNeighbors };

struct ImageEvaluationOptions {
  // methods, heads, residual, layers (only the last), start_layer, mask_columns, discard, output_token, flow_tolerance
  Settings settings;
  // Each once, not auto; empty: all that the model supports, tried on the first picture.
  std::vector<Mixing> mixings = {Mixing::kAttention, Mixing::kGradient, Mixing::kRelevance};
  bool check = false;      // also order patches by the check
  bool own_class = false;  // the probability of the picture's own class instead of the predicted one
  PictureBlank blank = PictureBlank::kMean;
  std::size_t samples = 500;                          // drawn by the seed; 0: all
  std::size_t steps = 0;                              // of each curve; 0: one for each patch, 50 at most
  std::size_t random_orders = 3;                      // of each picture
  std::size_t integration_steps = kIntegrationSteps;  // of integrated-gradients
  std::uint64_t seed = 1;
  ResamplingOptions resampling;
  std::size_t threads = 0;
  ProgressFunction progress = {};  // in pictures
  std::stop_token stop_token = {};
};

struct ImageCurve {
  std::vector<double> values;  // [points], means over pictures
  Summary area;
  PairedComparison from_random;  // below 0 speaks for the method in deletion, above 0 in insertion
  // From rollout over gradient, on request, for all but itself and random.
  std::optional<PairedComparison> from_gradient = {};
};

struct ImageOrderCurves {
  std::string method;            // or random
  std::optional<Mixing> mixing;  // of methods that aggregate layers
  ImageCurve deletion = {};
  ImageCurve insertion = {};
};

struct ImageEvaluationReport {
  Settings settings;
  std::vector<Mixing> mixings;
  // Mixings that the model does not support, and why, if all are requested.
  std::map<std::string, std::string> impossible;
  ReportModel model;
  std::string source;
  std::string blank;
  std::string scored_class;  // "predicted" or "own"
  std::uint64_t seed = 1;
  std::size_t available = 0;
  std::size_t scored = 0;
  std::size_t with_label = 0;
  std::size_t right = 0;                 // of those with a label: the model says it
  std::size_t patches = 0;               // of a picture; 0: they differ
  double probability = 0.0;              // of the class, whole pictures, the mean
  double blank_probability = 0.0;        // the same with everything removed
  std::vector<double> removed;           // [points]: shares of the patches
  std::vector<ImageOrderCurves> curves;  // by mixing and method, then those beside the graph, random last
  std::vector<Note> notes;
};

// Throws Error(kUsage) for options out of range, Error(kUnsupportedModel) for a model that does not classify pictures,
// or does not support a mixing or a method; Error(kBadFile) for a set without pictures, or a label that the model does
// not have; Error(kOther) before the model runs when a picture's matrices would not fit into memory; Cancelled.
ImageEvaluationReport evaluate_image(const ImageModel& model, const PictureSet& pictures,
                                     const ImageEvaluationOptions& options);

// Reads a text file of pictures: on each line a file (relative to the list) and, after a tab or a comma, a label of the
// model by name, number, or id:N (label_named() of analysis/text/prediction_target.h). Both names may have commas;
// only a tab is never misread. Throws Error(kBadFile), naming the line, also for missing files. `limits` apply to each
// picture.
PictureSet read_picture_list(const std::filesystem::path& path, const ModelInfo& info,
                             const PictureOptions& limits = {});

// The forms of evaluation_file.h; a row of the .csv is a point of an order's curves.
std::string evaluation_json(const ImageEvaluationReport& report);
std::string evaluation_csv(const ImageEvaluationReport& report);
std::string evaluation_markdown(const ImageEvaluationReport& report);
std::string evaluation_table(const ImageEvaluationReport& report, std::size_t width = 80);

}  // namespace attnflow
