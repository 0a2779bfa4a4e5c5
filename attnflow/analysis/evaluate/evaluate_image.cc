#include "attnflow/analysis/evaluate/evaluate_image.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

#include "attnflow/analysis/evaluate/csv_reader.h"
#include "attnflow/analysis/evaluate/evaluation_file.h"
#include "attnflow/analysis/evaluate/mixed_graphs.h"
#include "attnflow/analysis/evaluate/picture_curves.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/format_error.h"
#include "attnflow/base/random.h"
#include "attnflow/files/input_file.h"
#include "attnflow/graph/layers.h"
#include "attnflow/metrics/perturbation_curve.h"

namespace attnflow {
namespace {

const char* name_of(PictureBlank blank) {
  constexpr std::array kNames = {"mean", "black", "neighbors"};
  return kNames[static_cast<std::size_t>(blank)];
}

void check_evaluate_image_options(const ImageEvaluationOptions& options, const ModelInfo& info,
                                  const PictureSet& pictures, const ImageProcessor& processor) {
  if (!info.image || info.head != ModelHead::kClassification) {
    throw internal::model_error("expected an image classifier, found {} ({}) without a classification head", info.name,
                                info.architecture);
  }
  validate(options.settings);
  check_mixings(options.mixings);
  if (options.settings.words) throw internal::usage_error("--words: expected a text, found images");
  if (options.random_orders == 0) throw internal::usage_error("--random-orders: expected at least 1, found 0");
  if (options.settings.output_token.kind == OutputToken::Kind::kAll) {
    throw internal::usage_error("--output-token: expected a single token, found all");
  }
  if (pictures.entries.empty()) {
    throw internal::file_error("{}: expected images, found none", pictures.source);
  }
  if (options.blank != PictureBlank::kBlack && !processor.do_normalize) {
    throw internal::usage_error(
        "--blank {}: expected a model whose preprocessing subtracts a mean, found one that does not; use --blank black",
        name_of(options.blank));
  }
  if (options.own_class) {
    for (const auto& entry : pictures.entries) {
      if (!entry.label) {
        throw internal::file_error("{}: expected a label for every image, found none for {}", pictures.source,
                                   entry.name);
      }
    }
  }
}

constexpr std::array kCurves = {std::pair{&ImageOrderCurves::deletion, &PatchCurves::deletion},
                                std::pair{&ImageOrderCurves::insertion, &PatchCurves::insertion}};

std::vector<Summary*> summaries_of(ImageEvaluationReport& report) {
  std::vector<Summary*> summaries;
  for (ImageOrderCurves& order : report.curves) {
    for (ImageCurve* const curve : {&order.deletion, &order.insertion}) {
      summaries.insert(summaries.end(), {&curve->area, &curve->from_random.difference});
      if (curve->from_gradient) summaries.push_back(&curve->from_gradient->difference);
    }
  }
  return summaries;
}

}  // namespace

ImageEvaluationReport evaluate_image(const ImageModel& model, const PictureSet& pictures,
                                     const ImageEvaluationOptions& options) {
  const ModelInfo& info = model.model->info();
  check_evaluate_image_options(options, info, pictures, model.processor);
  ImageEvaluationReport report;
  report.settings = options.settings;
  report.settings.layers = {options.settings.layers.empty() ? info.layers : options.settings.layers.back()};
  resolve_layers(report.settings.layers, report.settings.start_layer, info.layers);
  report.model = {info.name, info.architecture, info.layers, info.heads, info.causal};
  report.notes = info.notes_for(1);
  report.source = pictures.source;
  report.blank = name_of(options.blank);
  report.scored_class = options.own_class ? "own" : "predicted";
  report.seed = options.seed;
  report.available = pictures.entries.size();

  std::vector<std::size_t> drawn(pictures.entries.size());
  std::iota(drawn.begin(), drawn.end(), std::size_t{0});
  Random(stream_seed(options.seed, "pictures")).shuffle(drawn);
  if (options.samples != 0 && drawn.size() > options.samples) drawn.resize(options.samples);
  report.scored = drawn.size();

  ImageEvaluationOptions used = options;
  used.settings = report.settings;
  const PictureScorer scorer(model, used);
  if (options.mixings.empty()) {
    const Picture picture = pictures.read(drawn.front());
    std::tie(used.mixings, report.impossible) =
        possible_mixings([&](Mixing mixing) { scorer.attempt(picture, pictures.entries[drawn.front()], mixing); });
  }
  report.mixings = used.mixings;
  if (leaves_heads_or_residual(used.settings, used.mixings)) report.notes.emplace_back(NoteCode::kHeadsUnused);

  for (const PatchOrder& order : patch_orders(used)) {
    report.curves.push_back({.method = order.method, .mixing = order.mixing});
  }
  report.curves.push_back({.method = "random", .mixing = {}});
  const std::size_t random = report.curves.size() - 1;
  // [order, picture], for each curve.
  std::array<Tensor<double>, kCurves.size()> areas;
  areas.fill(Tensor<double>({random + 1, drawn.size()}));
  const auto share = 1.0 / static_cast<double>(drawn.size());
  for (std::size_t s = 0; s < drawn.size(); ++s) {
    const auto& entry = pictures.entries[drawn[s]];
    const PictureCurves found = scorer.score(pictures.read(drawn[s]), entry, drawn[s]);
    const std::vector<std::size_t>& points = found.points;
    if (entry.label) {
      ++report.with_label;
      const auto best = std::max_element(found.probabilities.begin(), found.probabilities.end());
      report.right += static_cast<std::size_t>(best - found.probabilities.begin()) == *entry.label ? 1 : 0;
    }
    if (report.removed.empty()) {
      report.patches = points.back();
      for (const std::size_t k : points) {
        report.removed.push_back(static_cast<double>(k) / static_cast<double>(points.back()));
      }
      for (ImageOrderCurves& order : report.curves) {
        order.deletion.values = order.insertion.values = std::vector<double>(points.size(), 0.0);
      }
    }
    if (report.removed.size() != points.size()) {
      throw internal::usage_error(
          "{}: expected images with as many patches as the previous one ({} points per curve), found {}; set --steps "
          "to a number that fits all of them",
          entry.name, report.removed.size(), points.size());
    }
    if (points.back() != report.patches) report.patches = 0;
    for (std::size_t m = 0; m < report.curves.size(); ++m) {
      for (std::size_t c = 0; c < kCurves.size(); ++c) {
        const std::vector<double>& of_picture = found.curves[m].*kCurves[c].second;
        areas[c](m, s) = area_under_curve(points, of_picture);
        std::vector<double>& mean = (report.curves[m].*kCurves[c].first).values;
        for (std::size_t j = 0; j < points.size(); ++j) mean[j] += share * of_picture[j];
      }
    }
    report.probability += share * found.curves[random].deletion.front();
    report.blank_probability += share * found.curves[random].deletion.back();
    if (options.progress) options.progress(s + 1, drawn.size());
    if (options.stop_token.stop_requested()) throw Cancelled();
  }

  const auto chefer = std::find_if(report.curves.begin(), report.curves.end(), [](const ImageOrderCurves& order) {
    return order.method == to_text(Method::kRollout) && order.mixing == Mixing::kGradient;
  });
  const auto usual = static_cast<std::size_t>(chefer - report.curves.begin());
  for (std::size_t c = 0; c < kCurves.size(); ++c) {
    const std::vector<Summary> summaries = summarize(areas[c].view(), options.resampling);
    const auto difference = [&](std::size_t order, std::size_t other) {
      return compare_paired(areas[c][order].span(), areas[c][other].span(), options.resampling);
    };
    for (std::size_t m = 0; m < report.curves.size(); ++m) {
      ImageCurve& curve = report.curves[m].*kCurves[c].first;
      curve.area = summaries[m];
      curve.from_random = difference(m, random);
      if (usual > random || m == usual || m == random) continue;
      curve.from_gradient = difference(m, usual);
    }
  }
  drop_intervals(summaries_of(report), report.notes);
  return report;
}

namespace {

// The index of the tab, else npos if the line names a file, else of the first comma between a file and a class (both
// names may have commas), else of the first before a class, else of the last, which leads to an error.
std::size_t label_separator(const std::string& line, const std::filesystem::path& folder, const ModelInfo& info) {
  const std::size_t tab = line.find('\t');
  if (tab != std::string::npos) return tab;
  const auto is_file = [&](const std::string& name) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(folder / name, ignored);
  };
  if (is_file(line)) return std::string::npos;
  std::optional<std::size_t> first;
  for (std::size_t comma = line.find(','); comma != std::string::npos; comma = line.find(',', comma + 1)) {
    if (!label_named(line.substr(comma + 1), info.labels)) continue;
    if (is_file(line.substr(0, comma))) return comma;
    if (!first) first = comma;
  }
  return first.value_or(line.rfind(','));
}

}  // namespace

PictureSet read_picture_list(const std::filesystem::path& path, const ModelInfo& info, const PictureOptions& limits) {
  const std::string text = read_utf8_text(path);
  PictureSet set;
  set.source = path.filename().string();
  std::vector<std::filesystem::path> files;
  each_line(text, [&](std::size_t line_number, std::string_view found) {
    const std::string line(found);
    PictureSet::Entry entry;
    const std::size_t cut = label_separator(line, path.parent_path(), info);
    entry.name = line.substr(0, cut);
    if (entry.name.empty()) {
      throw internal::file_error("{}, line {}: expected the name of an image before the class, found none",
                                 path.string(), line_number);
    }
    if (cut != std::string::npos) {
      const std::string label = line.substr(cut + 1);
      entry.label = label_named(label, info.labels);
      if (!entry.label) {
        throw internal::file_error(
            "{}, line {}: expected a class of {} (a name, a number below {}, or id:N for a number that is also another "
            "class's name), found '{}'",
            path.string(), line_number, info.name, info.labels.size(), label);
      }
    }
    std::error_code ignored;
    const std::filesystem::path file = path.parent_path() / entry.name;
    if (!internal::is_listed(file) || !std::filesystem::is_regular_file(file, ignored)) {
      throw internal::file_error("{}, line {}: expected an image, found no file {}", path.string(), line_number,
                                 file.string());
    }
    files.push_back(file);
    set.entries.push_back(std::move(entry));
  });
  set.read = [files = std::move(files), limits](std::size_t i) { return read_picture(files[i], limits); };
  return set;
}

}  // namespace attnflow
