// Reports for this module's tests: random attention over given text, with rollout and a substitute for flow.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "attnflow/report/report.h"

namespace attnflow::internal {

// Makes tokens from pieces: "[...]" is special and has no text, "##x" continues a word, and anything else starts a word
// after a space (without a space if `joined`).
inline void set_tokens(const std::vector<std::string>& pieces, bool joined, Report* report) {
  ReportInput& input = report->input;
  std::size_t word = 0;
  for (const std::string& piece : pieces) {
    InputToken token;
    token.text = piece;
    if (piece.size() > 2 && piece.front() == '[' && piece.back() == ']') {
      token.special = true;
    } else {
      const bool continued = piece.starts_with("##");
      const std::string text = continued ? piece.substr(2) : piece;
      if (!continued && !joined && !input.text.empty()) input.text += ' ';
      token.begin = input.text.size();
      input.text += text;
      token.end = input.text.size();
      if (!continued) ++word;
      token.word = word;
    }
    input.tokens.push_back(token);
  }
}

// Fills raw, rollout, flow, and the graph for all output tokens. Deterministic. As in trained models, attention peaks
// at a few positions and at special tokens. The substitute for flow is min(1, sum_k min(A_l[i, k], F_(l-1)[k, j])), an
// upper bound.
inline void set_values(std::size_t layers, Report* report) {
  const std::size_t n = report->input.tokens.size();
  std::mt19937 random(12345);
  const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
  report->model.layers = layers;
  report->graph = Tensor<double>({layers, n, n});
  const double rho = report->settings.residual;
  Tensor<double> rollout({layers, n, n});
  Tensor<double> flow({layers, n, n});
  for (std::size_t l = 0; l < layers; ++l) {
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < n; ++j) {
        double weight = std::pow(uniform(), 6.0) + 0.01;
        if (report->input.tokens[j].special) weight += 0.8 * uniform();
        report->graph(l, i, j) = weight;
        sum += weight;
      }
      for (std::size_t j = 0; j < n; ++j) report->graph(l, i, j) /= sum;
    }
    std::vector<double> a(n * n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        a[i * n + j] = (1.0 - rho) * report->graph(l, i, j) + (i == j ? rho : 0.0);
      }
    }
    // Pointers, because unoptimized builds take long for 464 tokens.
    for (std::size_t i = 0; i < n; ++i) {
      double* const rolled = rollout[l][i].span().data();
      double* const flows = flow[l][i].span().data();
      for (std::size_t k = 0; k < n; ++k) {
        const double weight = a[i * n + k];
        if (l == 0) {
          rolled[k] = weight;
          flows[k] = std::min(1.0, weight);
          continue;
        }
        const double* const below_rollout = rollout[l - 1][k].span().data();
        const double* const below_flow = flow[l - 1][k].span().data();
        for (std::size_t j = 0; j < n; ++j) {
          rolled[j] += weight * below_rollout[j];
          const double through = below_flow[j] < weight ? below_flow[j] : weight;
          flows[j] += through;
        }
      }
      for (std::size_t j = 0; j < n; ++j) {
        if (flows[j] > 1.0) flows[j] = 1.0;
      }
    }
    report->settings.layers.push_back(l + 1);
  }
  for (std::size_t i = 0; i < n; ++i) report->output_tokens.push_back(i);
  report->flow_output_tokens = report->output_tokens;
  report->raw = report->graph;
  report->rollout = rollout;
  report->flow = flow;
  report->flow_gap = Tensor<double>({layers, n, n});
  report->flow_degenerate = Tensor<std::uint8_t>({layers, n, n});
}

inline Report synthetic_report(const std::vector<std::string>& pieces, std::size_t layers = 6, bool joined = false) {
  Report report;
  report.model = {.name = "synthetic", .architecture = "bert", .layers = layers, .heads = 12, .causal = false};
  set_tokens(pieces, joined, &report);
  set_values(layers, &report);
  return report;
}

inline std::vector<std::string> english_pieces(std::size_t n) {
  std::istringstream stream(
      "the key to the cabin ##ets is on the table , but no one has seen it since the day when author talked to sara "
      "about mask ##ed books in an un ##believ ##ably long sentence that never ends .");
  const std::vector<std::string> words(std::istream_iterator<std::string>(stream), {});
  if (n == 1) return {"[CLS]"};
  std::vector<std::string> pieces = {"[CLS]"};
  for (std::size_t i = 0; i + 2 < n; ++i) pieces.push_back(words[i % words.size()]);
  pieces.push_back("[SEP]");
  return pieces;
}

}  // namespace attnflow::internal
