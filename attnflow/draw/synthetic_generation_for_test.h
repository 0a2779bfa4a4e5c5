// Generations for this module's tests and the browser test's pages: seeded causal attention with a sink at the first
// token, over given pieces of text, with its raw, rollout and flow.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/flow/flow.h"
#include "attnflow/report/report.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow::internal {

struct SyntheticGeneration {
  std::vector<std::string> prompt;     // pieces with leading spaces; "<|...|>" is special and represents its text
  std::vector<std::string> generated;  // "" ends the text
  std::size_t layers = 6;
  std::vector<std::size_t> flow_tokens = {};
  bool generated_columns = false;
  bool normalized = false;
  std::uint64_t seed = 1;
};

// Pieces between bars, repeated to the requested length.
inline std::vector<std::string> repeated(const std::string& pieces, std::size_t count) {
  std::vector<std::string> result;
  for (std::istringstream stream; result.size() < count;) {
    std::string piece;
    if (std::getline(stream, piece, '|')) {
      result.push_back(piece);
    } else {
      stream = std::istringstream(pieces);
    }
  }
  return result;
}

inline std::vector<std::string> prompt_pieces(std::size_t m) {
  return repeated(
      "It| is| sunny| today|,| which| is| bad|.|\n|What| do| people| usually| do| on| days| like| this|?| The| "
      "Colosseum"
      "| stands| in| the| center| of| Rome|,| just| east| of| the| Forum|;| it| was| built| of| trav|ert|ine| limestone"
      "|,| tu|ff| and| brick|-faced| concrete|.\n\n|In| what| year| was| it| done|?",
      m);
}

inline std::vector<std::string> answer_pieces(std::size_t n) {
  return repeated(
      "People| usually| go| to| the| beach|,| swim|,| and| sunb|athe|.|\n|They| also| eat| ice| cream| and| drink| cold"
      "| lemon|ade| in| the| shade|.",
      n);
}

inline Report synthetic_generation(const SyntheticGeneration& make) {
  Report report;
  Generation& generation = report.generation.emplace();
  report.input.kind = "generation";
  const std::size_t m = make.prompt.size();
  const std::size_t n = make.generated.size();
  const std::size_t positions = m + n - 1;
  std::mt19937_64 random(make.seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };

  report.model = {"synthetic-decoder", "llama", make.layers, 9, true};
  report.settings.methods = {Method::kRaw, Method::kRollout};
  if (!make.flow_tokens.empty()) report.settings.methods.push_back(Method::kFlow);
  for (std::size_t l = 1; l <= make.layers; ++l) report.settings.layers.push_back(l);
  if (make.normalized) report.settings.normalization = Normalization::kReceptiveField;
  for (const std::string& piece : make.prompt) {
    InputToken token;
    token.text = piece;
    token.special = piece.starts_with("<|");
    token.begin = report.input.text.size() + (piece.size() > 1 && piece.front() == ' ' ? 1 : 0);
    report.input.text += piece;
    token.end = report.input.text.size();
    report.input.tokens.push_back(token);
  }
  for (const std::string& piece : make.generated) {
    GeneratedToken token;
    token.id = static_cast<std::int64_t>(generation.tokens.size()) + 100;
    token.text = piece.empty() ? "<|end|>" : piece;
    token.special = piece.empty();
    token.begin = generation.text.size() + (piece.size() > 1 && piece.front() == ' ' ? 1 : 0);
    generation.text += piece;
    token.end = generation.text.size();
    if (piece.empty()) token.begin = token.end;
    token.probability = 0.3 + 0.65 * uniform();
    const double rest = 1.0 - token.probability;
    token.choices = {{token.text, token.probability}, {" the", 0.6 * rest}, {" a", 0.3 * rest}, {"\n", 0.05 * rest}};
    std::sort(token.choices.begin(), token.choices.end(),
              [](const ReportChoice& a, const ReportChoice& b) { return a.probability > b.probability; });
    generation.tokens.push_back(token);
  }
  generation.stopped = make.generated.back().empty() ? "end" : "length";

  AttentionGraph graph;
  graph.weights = Tensor<double>({make.layers, positions, positions});
  for (std::size_t l = 0; l < make.layers; ++l) {
    const double depth = static_cast<double>(l) / static_cast<double>(make.layers);
    for (std::size_t i = 0; i < positions; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j <= i; ++j) {
        const double distance = static_cast<double>(i - j);
        double& weight = graph.weights(l, i, j);
        weight = std::pow(uniform(), 10.0) + 0.6 * std::exp(-distance / 2.0) + 0.01;
        sum += weight;
      }
      const double sink = 0.1 + 0.7 * depth * (0.8 + 0.2 * uniform());
      for (std::size_t j = 0; j <= i; ++j) {
        graph.weights(l, i, j) *= (1.0 - sink) / sum;
        if (j == 0) graph.weights(l, i, j) += sink;
      }
    }
  }

  const auto fill = [&](const std::vector<std::size_t>& rows, std::size_t layers, auto value, auto uniform_value,
                        Tensor<double>& values, GenerationValues& beside) {
    values = Tensor<double>({layers, rows.size(), m});
    if (make.generated_columns) beside.generated = Tensor<double>({layers, rows.size(), n});
    if (make.normalized) beside.normalized = Tensor<double>({layers, rows.size(), m});
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::size_t position = rows[r];
      for (std::size_t l = 0; l < layers; ++l) {
        double sum = 0.0;
        const auto ratio = [&](std::size_t j) { return value(r, l, position, j) / uniform_value(r, l, position, j); };
        for (std::size_t j = 0; make.normalized && j <= position; ++j) sum += ratio(j);
        for (std::size_t j = 0; j <= position; ++j) {
          if (j < m) {
            values(l, r, j) = value(r, l, position, j);
            if (make.normalized) beside.normalized(l, r, j) = ratio(j) / sum;
          } else if (make.generated_columns) {
            beside.generated(l, r, j - m) = value(r, l, position, j);
          }
        }
      }
    }
  };
  report.output_token = m - 1;
  for (std::size_t t = 0; t < n; ++t) report.output_tokens.push_back(m - 1 + t);
  AttentionGraph even = graph;
  for (std::size_t l = 0; l < make.layers; ++l) {
    for (std::size_t i = 0; i < positions; ++i) {
      for (std::size_t j = 0; j <= i; ++j) even.weights(l, i, j) = 1.0 / static_cast<double>(i + 1);
    }
  }
  const auto raw = [](const AttentionGraph& of) {
    return [&of](std::size_t, std::size_t l, std::size_t i, std::size_t j) { return of.weights(l, i, j); };
  };
  const auto product = [](const Tensor<double>& of) {
    return [&of](std::size_t, std::size_t l, std::size_t i, std::size_t j) { return of(l, i, j); };
  };
  fill(report.output_tokens, make.layers, raw(graph), raw(even), report.raw, report.raw_beside);
  const Tensor<double> rolled = rollout(graph);
  const Tensor<double> even_rolled = make.normalized ? rollout(even) : Tensor<double>();
  fill(report.output_tokens, make.layers, product(rolled), product(even_rolled), report.rollout, report.rollout_beside);
  generation.sink_share = Tensor<double>({make.layers, n});
  for (std::size_t t = 0; t < n; ++t) {
    for (std::size_t l = 0; l < make.layers; ++l) generation.sink_share(l, t) = graph.weights(l, m - 1 + t, 0);
  }

  if (make.flow_tokens.empty()) return report;
  for (const std::size_t t : make.flow_tokens) report.flow_output_tokens.push_back(m - 1 + t);
  report.flow_layers = {make.layers};
  report.flow_gap = Tensor<double>({1, make.flow_tokens.size(), m});
  report.flow_degenerate = Tensor<std::uint8_t>({1, make.flow_tokens.size(), m});
  std::vector<Tensor<double>> flows;
  std::vector<Tensor<double>> even_flows;
  for (std::size_t r = 0; r < make.flow_tokens.size(); ++r) {
    FlowOptions options;
    options.layers = {make.layers};
    options.output_token = m - 1 + make.flow_tokens[r];
    options.threads = 1;
    FlowResult result = attention_flow(graph, options);
    for (std::size_t j = 0; j < m; ++j) {
      report.flow_gap(0, r, j) = result.flow_gap(0, 0, j);
      report.flow_degenerate(0, r, j) = result.degenerate(0, 0, j);
    }
    flows.push_back(std::move(result.flow));
    even_flows.push_back(make.normalized ? attention_flow(even, options).flow : Tensor<double>());
  }
  const auto row = [](const std::vector<Tensor<double>>& of) {
    return [&of](std::size_t r, std::size_t, std::size_t, std::size_t j) { return of[r](0, 0, j); };
  };
  fill(report.flow_output_tokens, 1, row(flows), row(even_flows), report.flow, report.flow_beside);
  return report;
}

inline Report usual_generation(std::size_t m, std::size_t n, std::size_t layers = 6) {
  SyntheticGeneration make;
  make.prompt = prompt_pieces(m);
  make.generated = answer_pieces(n);
  make.layers = layers;
  make.flow_tokens = {0, n / 2};
  make.flow_tokens.erase(std::unique(make.flow_tokens.begin(), make.flow_tokens.end()), make.flow_tokens.end());
  make.generated_columns = true;
  make.normalized = true;
  Report report = synthetic_generation(make);
  ExcludedTokens stop_words{.rule = "stop words (en)", .tokens = {}};
  ExcludedTokens punctuation{.rule = "punctuation", .tokens = {}};
  for (std::size_t j = 0; j < m; ++j) {
    const std::string& piece = make.prompt[j];
    for (const char* word : {" is", " which", " the", " of", " it", " was", " in", " on", " do"}) {
      if (piece == word) stop_words.tokens.push_back(j);
    }
    if (piece == "," || piece == "." || piece == "?" || piece == ";") punctuation.tokens.push_back(j);
  }
  report.generation->excluded = {stop_words, punctuation};
  report.notes = {Note(NoteCode::kAttentionSinkGenerated, {{"share", 0.43}, {"token", "It"}})};
  return report;
}

}  // namespace attnflow::internal
