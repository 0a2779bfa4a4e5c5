// Reports of pictures for this module's tests and the browser test's pages: seeded attention between patches of similar
// color, with its raw, rollout and flow.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/draw/cairo_canvas.h"
#include "attnflow/draw/canvas.h"
#include "attnflow/flow/flow.h"
#include "attnflow/report/report.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow::internal {

enum class FlowRows { kNone, kOne, kAll };

struct SyntheticPicture {
  std::string name = "discs.png";
  std::size_t width = 96;
  std::size_t height = 72;
  std::size_t rows = 6;
  std::size_t columns = 8;
  std::vector<std::string> specials = {"[CLS]"};
  std::size_t layers = 4;
  FlowRows flow = FlowRows::kAll;
  // The grid's area in fractions of the picture: left, top, right, bottom.
  std::array<double, 4> seen = {0.0, 0.0, 1.0, 1.0};
  std::size_t shrink = 1;  // pixels of the original per pixel of the kept picture, in each direction
};

// Gray if very small, like the pictures of small data sets.
inline Image discs(std::size_t width, std::size_t height) {
  Image image{.width = width, .height = height, .pixels = {}};
  const bool grey = width * height <= 32 * 32;
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      const double u = (static_cast<double>(x) + 0.5) / static_cast<double>(width);
      const double v = (static_cast<double>(y) + 0.5) / static_cast<double>(height);
      const auto shade = [&](double from, double to) {
        return static_cast<std::uint8_t>(std::lround(from + (to - from) * v));
      };
      Color color = v < 0.6 ? Color{shade(120, 200), shade(170, 215), 235} : Color{shade(90, 140), shade(150, 90), 70};
      if (std::hypot(u - 0.3, v - 0.5) < 0.22) color = {shade(250, 150), shade(190, 60), 40};
      if (std::hypot(u - 0.75, v - 0.65) < 0.15) color = {shade(20, 60), 40, shade(90, 60)};
      if (grey) color = {color.red, color.red, color.red};
      image.pixels.push_back(color);
    }
  }
  return image;
}

inline AttentionGraph picture_attention(const SyntheticPicture& make) {
  const std::size_t first = make.specials.size();
  const std::size_t n = first + make.rows * make.columns;
  std::mt19937_64 random(make.layers * 1000 + n);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const Image small = discs(make.columns, make.rows);
  AttentionGraph graph;
  graph.weights = Tensor<double>({make.layers, n, n});
  for (std::size_t l = 0; l < make.layers; ++l) {
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < n; ++j) {
        double weight = 0.02 + std::pow(uniform(), 6.0);
        if (j < first) weight = 2.0 * uniform();
        if (i >= first && j >= first) {
          const Color a = small.pixels[i - first];
          const Color b = small.pixels[j - first];
          const double apart = std::abs(int{a.red} - int{b.red}) + std::abs(int{a.green} - int{b.green});
          weight += std::exp(-apart / 20.0);
        } else if (j >= first && small.pixels[j - first].blue < 60) {
          weight += 2.0 * uniform();
        }
        graph.weights(l, i, j) = weight;
        sum += weight;
      }
      for (std::size_t j = 0; j < n; ++j) graph.weights(l, i, j) /= sum;
    }
  }
  return graph;
}

inline Report synthetic_picture(const SyntheticPicture& make) {
  Report report;
  report.model = {.name = "synthetic-vit", .architecture = "vit", .layers = make.layers, .heads = 3, .causal = false};
  report.input.kind = "image";
  for (const std::string& text : make.specials) {
    InputToken token;
    token.text = text;
    token.special = true;
    token.role = text == "[CLS]" ? "class" : text == "[DIST]" ? "distillation" : "register";
    report.input.tokens.push_back(token);
  }
  ReportImage image;
  image.name = make.name;
  image.width = make.width;
  image.height = make.height;
  image.rows = make.rows;
  image.columns = make.columns;
  image.first_patch = make.specials.size();
  image.left = make.seen[0] * static_cast<double>(make.width);
  image.top = make.seen[1] * static_cast<double>(make.height);
  image.right = make.seen[2] * static_cast<double>(make.width);
  image.bottom = make.seen[3] * static_cast<double>(make.height);
  image.input_width = 4 * make.columns;
  image.input_height = 4 * make.rows;
  image.input_channels = 1;
  image.png_width = std::max<std::size_t>(1, make.width / make.shrink);
  image.png_height = std::max<std::size_t>(1, make.height / make.shrink);
  image.png = encode_png(discs(image.png_width, image.png_height));
  report.input.image = std::move(image);
  for (std::size_t r = 0; r < make.rows; ++r) {
    for (std::size_t c = 0; c < make.columns; ++c) {
      InputToken token;
      token.text = std::to_string(r) + "," + std::to_string(c);
      token.role = "patch";
      report.input.tokens.push_back(token);
    }
  }
  report.predictions = {
      {"classification", std::nullopt, {{"two discs", 0.831}, {"sunset", 0.099}, {"house", 0.02}}, {}}};

  const AttentionGraph graph = picture_attention(make);
  for (std::size_t l = 1; l <= make.layers; ++l) report.settings.layers.push_back(l);
  for (std::size_t i = 0; i < report.input.tokens.size(); ++i) report.output_tokens.push_back(i);
  report.raw = graph.weights;
  report.graph = graph.weights;
  report.rollout = rollout(graph);
  if (make.flow == FlowRows::kNone) {
    report.settings.methods = {Method::kRaw, Method::kRollout};
    return report;
  }
  FlowOptions options;
  if (make.flow == FlowRows::kOne) options.output_token = report.output_token;
  FlowResult flow = attention_flow(graph, options);
  report.flow = std::move(flow.flow);
  report.flow_gap = std::move(flow.flow_gap);
  report.flow_degenerate = std::move(flow.degenerate);
  report.flow_output_tokens =
      make.flow == FlowRows::kOne ? std::vector<std::size_t>{report.output_token} : report.output_tokens;
  return report;
}

}  // namespace attnflow::internal
