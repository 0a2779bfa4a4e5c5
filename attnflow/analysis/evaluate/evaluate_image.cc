#include "attnflow/analysis/evaluate/evaluate_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "attnflow/analysis/evaluate/csv_reader.h"
#include "attnflow/analysis/evaluate/evaluate_samples.h"
#include "attnflow/analysis/image/blank_patches.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/error.h"
#include "attnflow/base/random.h"
#include "attnflow/evaluate/perturbation_curve.h"
#include "attnflow/model/prediction.h"

namespace attnflow {
namespace {

constexpr std::size_t kMaxSteps = 50;
constexpr std::size_t kBytesAtOnce = std::size_t{64} << 20U;  // of perturbed pictures

bool is_method(const std::string& method) {
  return method == "raw" || method == "rollout" || method == "flow" || method == "gradient-rollout" ||
         method == "gradient-flow";
}

void check_evaluate_image_options(const ImageEvaluationOptions& options, const ModelInfo& info,
                                  const PictureSet& pictures, const ImageProcessor& processor) {
  const bool normalizes = processor.do_normalize;
  if (!info.image || info.head != ModelHead::kClassification) {
    throw Error(ErrorKind::kUnsupportedModel,
                fmt::format("expected an image classifier, found {} ({}) without a classification head", info.name,
                            info.architecture));
  }
  for (const std::string& method : options.methods) {
    if (!is_method(method)) {
      throw Error(
          ErrorKind::kUsage,
          fmt::format("--method: expected raw, rollout, flow, gradient-rollout or gradient-flow, found '{}'", method));
    }
  }
  if (options.methods.empty()) throw Error(ErrorKind::kUsage, "--method: expected at least one, found none");
  if (options.random_orders == 0) throw Error(ErrorKind::kUsage, "--random-orders: expected at least 1, found 0");
  if (options.settings.output_token.kind == OutputToken::Kind::kAll) {
    throw Error(ErrorKind::kUsage, "--output-token: expected a single token, found all");
  }
  if (pictures.entries.empty()) {
    throw Error(ErrorKind::kBadFile, fmt::format("{}: expected images, found none", pictures.source));
  }
  if (options.blank == PictureBlank::kMean && !normalizes) {
    throw Error(ErrorKind::kUsage,
                "--blank mean: expected a model whose preprocessing subtracts a mean, found one that does not; use "
                "--blank black");
  }
  if (options.own_class) {
    for (const auto& entry : pictures.entries) {
      if (!entry.label) {
        throw Error(ErrorKind::kBadFile, fmt::format("{}: expected a label for every image, found none for {}",
                                                     pictures.source, entry.name));
      }
    }
  }
}

// A picture's input with patches removed.
class Perturbation {
 public:
  Perturbation(const ImageInput& prepared, const ImageInfo& info, const ImageProcessor& processor, PictureBlank blank)
      : pixels_(prepared.input.pixels), image_(prepared.image), info_(info) {
    for (std::size_t c = 0; c < info.channels; ++c) {
      const bool shifted = processor.do_normalize && blank == PictureBlank::kBlack;
      blank_.push_back(shifted ? static_cast<float>(-processor.image_mean[c] / processor.image_std[c]) : 0.0F);
    }
  }

  std::size_t patches() const { return image_.rows * image_.columns; }

  // Without the patches of order[begin, end).
  PixelInput without(const std::vector<std::size_t>& order, std::size_t begin, std::size_t end) const {
    PixelInput input;
    input.pixels = pixels_;
    blank_patches(input, image_, info_, std::span(order).subspan(begin, end - begin), blank_);
    return input;
  }

 private:
  const Tensor<float>& pixels_;
  const ReportImage& image_;
  const ImageInfo& info_;
  std::vector<float> blank_;
};

// The values of the patches, and the widths of their enclosures where there are some.
struct PatchValues {
  std::vector<double> values;
  std::vector<double> gaps;
};

PatchValues patch_values(const Report& report, Method method) {
  const MethodValues found = method_values(report, method);
  const ReportImage& image = *report.input.image;
  const std::size_t n = report.input.tokens.size();
  const std::size_t row = *row_index(*found.output_tokens, report.output_token);
  const std::size_t begin = row * n + image.first_patch;  // one layer
  const std::size_t patches = image.rows * image.columns;
  PatchValues result;
  result.values.assign(found.values->data() + begin, found.values->data() + begin + patches);
  if (method == Method::kFlow)
    result.gaps.assign(report.flow_gap.data() + begin, report.flow_gap.data() + begin + patches);
  return result;
}

struct Curves {
  std::vector<double> deletion;
  std::vector<double> insertion;
};

class Scorer {
 public:
  Scorer(const ImageModel& model, const ImageEvaluationOptions& options) : model_(model), options_(options) {
    const auto uses = [&](const std::string& beginning) {
      std::vector<Method> methods;
      for (const Method method : kAggregations) {
        const std::string whole = beginning + to_text(method);
        if (std::find(options.methods.begin(), options.methods.end(), whole) != options.methods.end()) {
          methods.push_back(method);
        }
      }
      return methods;
    };
    by_attention_ = uses("");
    by_gradient_ = uses("gradient-");
  }

  // Curves of the methods in order, then of random. `probabilities` becomes those of the whole picture.
  std::vector<Curves> score(const Picture& picture, const PictureSet::Entry& entry, std::size_t index,
                            std::vector<double>& probabilities, std::vector<std::size_t>& points) {
    const ModelInfo& info = model_.model->info();
    const ImageInput prepared = image_input(picture, entry.name, model_.processor, info);
    const Perturbation perturbation(prepared, *info.image, model_.processor, options_.blank);
    const std::size_t patches = perturbation.patches();
    points = curve_points(patches, options_.steps == 0 ? std::min(patches, kMaxSteps) : options_.steps);

    BatchOptions batch;
    batch.stop_token = options_.stop_token;
    probabilities = softmax(model_.model->classify({&prepared.input, 1}, batch).front().span());
    const auto best = std::max_element(probabilities.begin(), probabilities.end());
    const std::size_t label =
        options_.own_class ? *entry.label : static_cast<std::size_t>(best - probabilities.begin());

    std::vector<Report> reports;
    for (const auto* methods : {&by_attention_, &by_gradient_}) {
      if (methods->empty()) {
        reports.emplace_back();
        continue;
      }
      ExplainOptions explain;
      explain.settings = options_.settings;
      explain.settings.methods = *methods;
      explain.settings.layers = {layer_};
      explain.settings.mixing = Mixing::kAttention;
      explain.settings.target = "auto";
      if (methods == &by_gradient_) {
        explain.settings.mixing = Mixing::kGradient;
        explain.settings.target = fmt::format("id:{}", label);
        // By its definition heads are averaged and the identity is added whole.
        explain.settings.heads = Settings{}.heads;
        explain.settings.residual = Settings{}.residual;
      }
      explain.threads = options_.threads;
      explain.stop_token = options_.stop_token;
      reports.push_back(explain_image(*model_.model, model_.processor, picture, entry.name, explain));
    }

    const std::uint64_t seed = stream_seed(options_.seed, index);
    std::vector<std::vector<std::size_t>> orders;
    for (const std::string& method : options_.methods) {
      const bool gradient = method.starts_with("gradient-");
      const std::string name = gradient ? method.substr(std::string("gradient-").size()) : method;
      const PatchValues found = patch_values(reports[gradient ? 1 : 0], parse_method(name));
      orders.push_back(importance_order(found.values, seed, found.gaps));
    }
    const std::vector<double> nothing(patches, 0.0);
    for (std::size_t r = 0; r < options_.random_orders; ++r) {
      orders.push_back(importance_order(nothing, stream_seed(seed, r + 1)));
    }

    // A few pictures at a time: a curve of a large one would take gigabytes.
    const auto probability = [&](const std::vector<std::pair<std::size_t, std::size_t>>& removed,
                                 const std::vector<std::size_t>& of) {
      const std::size_t at_once =
          std::max<std::size_t>(1, kBytesAtOnce / (prepared.input.pixels.size() * sizeof(float)));
      std::vector<double> found;
      for (std::size_t begin = 0; begin < removed.size(); begin += at_once) {
        std::vector<PixelInput> inputs;
        for (std::size_t j = begin; j < std::min(removed.size(), begin + at_once); ++j) {
          inputs.push_back(perturbation.without(of, removed[j].first, removed[j].second));
        }
        for (const Tensor<float>& logits : model_.model->classify(inputs, batch)) {
          found.push_back(softmax(logits.span())[label]);
        }
      }
      return found;
    };
    std::vector<Curves> curves;
    for (const auto& order : orders) {
      std::vector<std::pair<std::size_t, std::size_t>> first;
      std::vector<std::pair<std::size_t, std::size_t>> rest;
      for (const std::size_t k : points) {
        first.emplace_back(0, k);
        rest.emplace_back(k, patches);
      }
      curves.push_back({probability(first, order), probability(rest, order)});
    }
    // Random orders become their mean.
    Curves random{std::vector<double>(points.size(), 0.0), std::vector<double>(points.size(), 0.0)};
    const auto share = 1.0 / static_cast<double>(options_.random_orders);
    for (std::size_t o = options_.methods.size(); o < curves.size(); ++o) {
      for (std::size_t j = 0; j < points.size(); ++j) {
        random.deletion[j] += share * curves[o].deletion[j];
        random.insertion[j] += share * curves[o].insertion[j];
      }
    }
    curves.resize(options_.methods.size());
    curves.push_back(std::move(random));
    return curves;
  }

  void set_layer(std::size_t layer) { layer_ = layer; }

 private:
  const ImageModel& model_;
  const ImageEvaluationOptions& options_;
  std::vector<Method> by_attention_;
  std::vector<Method> by_gradient_;
  std::size_t layer_ = 0;
};

}  // namespace

ImageEvaluationReport evaluate_image(const ImageModel& model, const PictureSet& pictures,
                                     const ImageEvaluationOptions& options) {
  const ModelInfo& info = model.model->info();
  check_evaluate_image_options(options, info, pictures, model.processor);
  ImageEvaluationReport report;
  report.settings = options.settings;
  report.methods = options.methods;
  const std::size_t layer = options.settings.layers.empty() ? info.layers : options.settings.layers.back();
  report.settings.layers = {layer};
  report.model = {info.name, info.architecture, info.layers, info.heads, info.causal};
  report.notes = info.notes_for(1);
  report.source = pictures.source;
  report.blank = options.blank == PictureBlank::kMean ? "mean" : "black";
  report.scored_class = options.own_class ? "own" : "predicted";
  report.seed = options.seed;
  report.available = pictures.entries.size();

  std::vector<std::size_t> order(pictures.entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random(stream_seed(options.seed, "pictures")).shuffle(order);
  if (options.samples != 0 && order.size() > options.samples) order.resize(options.samples);
  report.scored = order.size();

  const bool adjusted = std::any_of(options.methods.begin(), options.methods.end(),
                                    [](const std::string& method) { return method.starts_with("gradient-"); });
  if (adjusted && (options.settings.heads != Settings{}.heads || options.settings.residual != Settings{}.residual)) {
    report.notes.emplace_back(NoteCode::kHeadsUnused);
  }
  Scorer scorer(model, options);
  scorer.set_layer(layer);
  const std::size_t methods = options.methods.size() + 1;
  Tensor<double> deletion({methods, order.size()});
  Tensor<double> insertion({methods, order.size()});
  std::vector<Curves> sums(methods);
  const auto share = 1.0 / static_cast<double>(order.size());
  for (std::size_t s = 0; s < order.size(); ++s) {
    const auto& entry = pictures.entries[order[s]];
    std::vector<double> probabilities;
    std::vector<std::size_t> points;
    const std::vector<Curves> curves = scorer.score(pictures.read(order[s]), entry, order[s], probabilities, points);
    if (entry.label) {
      ++report.with_label;
      const auto best = std::max_element(probabilities.begin(), probabilities.end());
      report.right += static_cast<std::size_t>(best - probabilities.begin()) == *entry.label ? 1 : 0;
    }
    if (report.removed.empty()) {
      report.patches = points.back();
      for (const std::size_t k : points) {
        report.removed.push_back(static_cast<double>(k) / static_cast<double>(points.back()));
      }
      for (Curves& sum : sums) sum.deletion = sum.insertion = std::vector<double>(points.size(), 0.0);
    }
    const bool same = report.removed.size() == points.size();
    if (points.back() != report.patches) report.patches = 0;
    for (std::size_t m = 0; m < methods; ++m) {
      deletion(m, s) = area_under_curve(points, curves[m].deletion);
      insertion(m, s) = area_under_curve(points, curves[m].insertion);
      for (std::size_t j = 0; same && j < points.size(); ++j) {
        sums[m].deletion[j] += share * curves[m].deletion[j];
        sums[m].insertion[j] += share * curves[m].insertion[j];
      }
    }
    if (!same) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("{}: expected images with as many patches as the previous one ({} points per curve), "
                              "found {}; set --steps to a number that fits all of them",
                              entry.name, report.removed.size(), points.size()));
    }
    report.probability += share * curves.back().deletion.front();
    report.blank_probability += share * curves.back().deletion.back();
    if (options.progress) options.progress(s + 1, order.size());
    if (options.stop_token.stop_requested()) throw Cancelled();
  }

  const std::vector<Summary> deleted = summarize(deletion.view(), options.resampling);
  const std::vector<Summary> inserted = summarize(insertion.view(), options.resampling);
  for (std::size_t m = 0; m < methods; ++m) {
    ImageCurve& curve = report.curves.emplace_back();
    curve.method = m < options.methods.size() ? options.methods[m] : "random";
    curve.deletion = std::move(sums[m].deletion);
    curve.insertion = std::move(sums[m].insertion);
    curve.deletion_area = deleted[m];
    curve.insertion_area = inserted[m];
    curve.deletion_from_random = compare_paired(std::as_const(deletion)[m].span(),
                                                std::as_const(deletion)[methods - 1].span(), options.resampling);
    curve.insertion_from_random = compare_paired(std::as_const(insertion)[m].span(),
                                                 std::as_const(insertion)[methods - 1].span(), options.resampling);
  }
  return report;
}

namespace {

// Where the class begins in a line: at the tab. Without one at the first comma that has a file before and a class
// behind it (both names of files and of classes have commas), unless the whole line is a file's name; then at the last
// one, to be complained of.
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
    if (!find_label(line.substr(comma + 1), info)) continue;
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
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++line_number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    PictureSet::Entry entry;
    const std::size_t cut = label_separator(line, path.parent_path(), info);
    entry.name = line.substr(0, cut);
    if (entry.name.empty()) {
      throw Error(ErrorKind::kBadFile,
                  fmt::format("{}, line {}: expected the name of an image before the class, found none", path.string(),
                              line_number));
    }
    if (cut != std::string::npos) {
      const std::string label = line.substr(cut + 1);
      entry.label = find_label(label, info);
      if (!entry.label) {
        throw Error(ErrorKind::kBadFile,
                    fmt::format("{}, line {}: expected a class of {} (a name, a number below {}, or id:N for a number "
                                "that is also another class's name), found '{}'",
                                path.string(), line_number, info.name, info.labels.size(), label));
      }
    }
    // Now, not after an hour of work on those before it.
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path.parent_path() / entry.name, ignored)) {
      throw Error(ErrorKind::kBadFile, fmt::format("{}, line {}: expected an image, found no file {}", path.string(),
                                                   line_number, (path.parent_path() / entry.name).string()));
    }
    files.push_back(path.parent_path() / entry.name);
    set.entries.push_back(std::move(entry));
  }
  set.read = [files = std::move(files), limits](std::size_t i) { return read_picture(files[i], limits); };
  return set;
}

}  // namespace attnflow
