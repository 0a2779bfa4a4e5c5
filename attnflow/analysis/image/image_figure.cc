#include "attnflow/analysis/image/image_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "attnflow/base/format_error.h"
#include "attnflow/draw/figure_text.h"
#include "attnflow/image/encode_png.h"
#include "attnflow/image/picture.h"
#include "attnflow/image/resize.h"
#include "attnflow/report/report_answer.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/words/numbers.h"

namespace attnflow {
namespace {

// Pixels of the longer side of an embedded picture: twice what a page shows, and less for a small strip's panels.
constexpr std::size_t kOverlaySide = 512;
constexpr std::size_t kLayerSide = 224;
constexpr double kOverlayHeight = 220.0;
constexpr double kLayerHeight = 96.0;
// A picture below this size is enlarged by repeating its pixels, so that they are visible.
constexpr std::size_t kSmallPicture = 96;

struct ImageRow {
  Tensor<double> patches;  // [rows, columns]
  double largest = 0.0;
  double total = 0.0;    // over all tokens
  double special = 0.0;  // over those that are no patches
};

class Maps {
 public:
  Maps(const Report& report, const ImageFigureOptions& options)
      : report_(report), options_(options), image_(checked_image(report)) {
    const auto bytes = std::as_bytes(std::span(image_.png));
    picture_ = decode_picture(bytes, image_.name.empty() ? "the report's picture" : image_.name);
    output_ = options.output_token.value_or(report.output_token);
    if (output_ >= report.input.tokens.size()) {
      throw internal::usage_error("output token: expected a position below {}, found {}", report.input.tokens.size(),
                                  output_);
    }
  }

  const ReportImage& image() const { return image_; }
  std::size_t output() const { return output_; }

  // Whether the method was computed for the output token, or for the prediction.
  bool holds(Method method) const {
    if (!method_info(method).aggregates()) return method_scores(report_, method) != nullptr;
    const MethodValues values = method_values(report_, method);
    return !values.values->empty() && row_index(*values.output_tokens, output_).has_value();
  }

  ImageRow row(Method method, std::size_t layer_position) const {
    const MethodValues values = method_values(report_, method);
    const std::size_t row = *row_index(*values.output_tokens, output_);
    const std::size_t n = report_.input.tokens.size();
    return row_of(values.values->data() + (layer_position * values.output_tokens->size() + row) * n);
  }

  // Scores of the prediction; `largest` of either sign.
  ImageRow score_row(Method method) const { return row_of(method_scores(report_, method)->values.data()); }

  ImageRow row_of(const double* from) const {
    const std::size_t n = report_.input.tokens.size();
    ImageRow result;
    result.patches = Tensor<double>({image_.rows, image_.columns});
    const std::size_t patches = result.patches.size();
    for (std::size_t t = 0; t < n; ++t) {
      const bool is_patch = t >= image_.first_patch && t - image_.first_patch < patches;
      result.total += from[t];
      if (is_patch) {
        result.patches.data()[t - image_.first_patch] = from[t];
        result.largest = std::max(result.largest, std::abs(from[t]));
      } else {
        result.special += from[t];
      }
    }
    return result;
  }

  // The picture at a size for the page, the longer side `side` pixels.
  Picture base(std::size_t side) const {
    const std::size_t longest = std::max(picture_.width(), picture_.height());
    ResizeOptions to;
    to.width = std::max<std::size_t>(1, picture_.width() * side / longest);
    to.height = std::max<std::size_t>(1, picture_.height() * side / longest);
    to.resampling = longest < kSmallPicture ? Resampling::kNearest : Resampling::kBicubic;
    return resize(picture_, to);
  }

  PicturePanel plain() const {
    PicturePanel panel;
    panel.title = "picture";
    panel.subtitle = fmt::format("{} x {} pixels", image_.width, image_.height);
    const Picture picture = base(kOverlaySide);
    panel.png = encode_png(picture);
    panel.width = picture.width();
    panel.height = picture.height();
    panel.description = "the picture";
    panel.mark = mark();
    const auto& token = report_.input.tokens[output_];
    if (token.role == "patch" && options_.page.notes) {
      panel.caption = fmt::format("Outlined: the output token, the patch in {}", display_text(report_.input, output_));
    }
    return panel;
  }

  PicturePanel panel(const ImageRow& row, double top, std::size_t side, bool has_signs = false) const {
    const Picture ground = base(side);
    MapOptions how;
    how.interpolation = options_.interpolation;
    how.height = ground.height();
    how.width = ground.width();
    const PlacedGrid grid{{image_.left, image_.top, image_.right, image_.bottom}, image_.height, image_.width};
    const Tensor<float> map = map_over_picture(row.patches.view(), grid, how);
    OverlayOptions mixing;
    mixing.high = top > 0.0 ? top : 1.0;
    mixing.low = has_signs ? -mixing.high : 0.0;
    mixing.opacity = options_.opacity;
    mixing.tone = options_.tone;
    const Picture mixed = overlay(ground, map.view(), has_signs ? signed_picture_color : picture_color, mixing);
    PicturePanel panel;
    panel.png = encode_png(mixed);
    panel.width = mixed.width();
    panel.height = mixed.height();
    panel.mark = mark();
    return panel;
  }

 private:
  static const ReportImage& checked_image(const Report& report) {
    if (report.input.image) return *report.input.image;
    throw internal::usage_error("expected the report of an image, found one of a text or of an attention file");
  }

  std::optional<PanelMark> mark() const {
    if (output_ < image_.first_patch || output_ - image_.first_patch >= image_.rows * image_.columns) return {};
    const std::size_t patch = output_ - image_.first_patch;
    const std::size_t row = patch / image_.columns;
    const auto columns = static_cast<double>(image_.columns);
    const auto rows = static_cast<double>(image_.rows);
    const double width = (image_.right - image_.left) / columns;
    const double height = (image_.bottom - image_.top) / rows;
    const double left = image_.left + width * static_cast<double>(patch % image_.columns);
    const double top = image_.top + height * static_cast<double>(row);
    const auto picture_width = static_cast<double>(image_.width);
    const auto picture_height = static_cast<double>(image_.height);
    return PanelMark{left / picture_width, top / picture_height, width / picture_width, height / picture_height};
  }

  const Report& report_;
  const ImageFigureOptions& options_;
  const ReportImage& image_;
  Picture picture_;
  std::size_t output_ = 0;
};

std::string share_text(const ImageRow& row) {
  if (!(row.total > 0.0)) return "nothing on any token";
  return internal::percent(row.special / row.total) + " on tokens that are not patches";
}

std::string panel_title(const Report& report, Method method, std::size_t layer) {
  if (method == Method::kRaw) return fmt::format("raw, layer {}", layer);
  return fmt::format("{}, layers {}\u2013{}", to_text(method), report.settings.start_layer + 1, layer);
}

std::vector<std::string> subtitles(const Report& report) {
  const ReportImage& image = *report.input.image;
  std::vector<std::string> lines;
  lines.push_back(report.model.name + " \u00b7 " +
                  internal::settings_line(report.model, report.settings,
                                          fmt::format("{} x {} patches", image.rows, image.columns), report.target));
  for (const ReportPrediction& prediction : report.predictions) {
    std::string line = "predicted: ";
    for (std::size_t c = 0; c < std::min<std::size_t>(4, prediction.choices.size()); ++c) {
      line += fmt::format("{}{} {}", c == 0 ? "" : ", ", prediction.choices[c].label,
                          internal::percent(prediction.choices[c].probability, 1));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::optional<ImageView> image_view_from_name(const std::string& name) {
  if (name == "overview") return ImageView::kOverview;
  if (name == "overlay") return ImageView::kOverlay;
  if (name == "layers") return ImageView::kLayers;
  return std::nullopt;
}

PicturePage image_page(const Report& report, const ImageFigureOptions& options) {
  const Maps maps(report, options);
  const std::size_t layer = options.layer.value_or(report.settings.layers.back());
  const auto position = layer_index(report, layer);
  if (!position) {
    throw internal::usage_error("layer: expected one of the computed layers ({}), found {}",
                                fmt::join(report.settings.layers, ", "), layer);
  }
  PicturePage page;
  page.title = maps.image().name;
  page.subtitles = subtitles(report);
  const std::string token = display_text(report.input, maps.output());
  const bool is_patch = report.input.tokens[maps.output()].role == "patch";
  page.subtitles.push_back(fmt::format("Attribution for {}.", is_patch ? "the patch in " + token : token));
  page.notes = note_paragraphs(report);

  std::vector<Method> methods;  // that aggregate
  std::vector<Method> scored;   // the others
  for (const Method method : options.methods.empty() ? report.settings.methods : options.methods) {
    if (maps.holds(method)) {
      (method_info(method).aggregates() ? methods : scored).push_back(method);
    } else if (options.methods.empty()) {
      page.notes.push_back(fmt::format("Not shown: {}, which was computed for other output tokens.", to_text(method)));
    } else {
      throw internal::usage_error("expected a method that was computed for the output token, found {}",
                                  to_text(method));
    }
  }
  if (options.view != ImageView::kLayers) {
    PictureRow row;
    row.panel_height = kOverlayHeight;
    row.panels.push_back(maps.plain());
    const auto add = [&](const ImageRow& values, bool has_signs, const std::string& title, const std::string& caption) {
      const double top = values.largest > 0.0 ? values.largest : 1.0;
      PicturePanel panel = maps.panel(values, values.largest, kOverlaySide, has_signs);
      panel.title = title;
      if (options.page.notes || has_signs) panel.caption = caption;  // colors need their legend
      panel.description = fmt::format("the picture under a map of {}", title);
      panel.bar = PanelBar{top, has_signs};
      row.panels.push_back(std::move(panel));
    };
    for (const Method method : methods) {
      const ImageRow values = maps.row(method, *position);
      add(values, false, panel_title(report, method, layer), share_text(values));
    }
    for (const Method method : scored) {
      add(maps.score_row(method), true, to_text(method),
          fmt::format("blue argues for {}, red against it", target_title(report.target)));
    }
    page.rows.push_back(std::move(row));
  }
  if (options.view != ImageView::kOverlay && report.settings.layers.size() > 1) {
    for (const Method method : methods) {
      std::vector<ImageRow> rows;
      double largest = 0.0;
      for (std::size_t l = 0; l < report.settings.layers.size(); ++l) {
        rows.push_back(maps.row(method, l));
        largest = std::max(largest, rows.back().largest);
      }
      PictureRow strip;
      strip.heading = to_text(method) + " by layer";
      strip.panel_height = kLayerHeight;
      strip.bar = PanelBar{largest > 0.0 ? largest : 1.0};
      for (std::size_t l = 0; l < rows.size(); ++l) {
        PicturePanel panel = maps.panel(rows[l], largest, kLayerSide);
        panel.title = fmt::format("layer {}", report.settings.layers[l]);
        const bool told = options.page.notes && rows[l].total > 0.0;
        panel.caption = told ? internal::percent(rows[l].special / rows[l].total) + " off the map" : "";
        panel.description = fmt::format("the picture under a map of {}, {}", to_text(method), panel.title);
        strip.panels.push_back(std::move(panel));
      }
      page.rows.push_back(std::move(strip));
    }
  }
  if (methods.empty() && scored.empty()) {
    throw internal::usage_error("expected a method that was computed for the output token {}, found none", token);
  }
  if (page.rows.empty()) {
    throw internal::usage_error("layers: expected a report of several layers, found one; use the view overlay");
  }
  return page;
}

}  // namespace attnflow
