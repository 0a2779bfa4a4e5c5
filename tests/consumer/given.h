// What the examples in headers take as given: each is a member function of a struct derived from Given, and may use
// what is included here.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/attribution/attribute.h"
#include "attnflow/attribution/running_layers.h"
#include "attnflow/files/array_file.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/flow/flow.h"
#include "attnflow/graph/attention_replay.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/graph/layer_terms.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/report/report.h"
#include "attnflow/report/report_table.h"
#include "attnflow/rollout/rollout.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// A decoder that hands out what a stack holds.
class StackReplay : public AttentionReplay {
 public:
  explicit StackReplay(AttentionStack stack) : stack_(std::move(stack)) {}
  std::size_t layers() const override { return stack_.layers(); }
  std::size_t heads() const override { return stack_.heads(); }
  std::size_t tokens() const override { return stack_.tokens(); }
  void rows(std::size_t layer, std::size_t query_begin, std::size_t query_end, AttentionSink& sink) override {
    Tensor<float> rows({heads(), query_end - query_begin, tokens()});
    for (std::size_t h = 0; h < heads(); ++h) {
      for (std::size_t q = query_begin; q < query_end; ++q) {
        for (std::size_t k = 0; k < tokens(); ++k) rows(h, q - query_begin, k) = stack_.layer(layer)(h, q, k);
      }
    }
    sink.layer(layer, query_begin, rows.view());
  }

 private:
  AttentionStack stack_;
};

struct Given {
  static constexpr std::size_t kLayers = 6;
  static constexpr std::size_t kHeads = 2;
  static constexpr std::size_t kTokens = 6;

  // Of an encoder, and of a decoder that has read as much.
  AttentionStack stack{some_attention(/*causal=*/false)};
  AttentionStack decoder_stack{some_attention(/*causal=*/true)};
  StackReplay replay{decoder_stack};
  // What `stack` holds, with a gradient.
  Tensor<float> attention = stack.weights();
  Tensor<float> gradient = some_gradient();
  // What its layers write (graph/layer_terms.h), the same numbers in each: one value head, and a width of 2 and 4.
  Tensor<float> values = some_floats({kTokens, 1, 2});
  Tensor<float> output_projection = some_floats({kHeads, 2, 4});
  Tensor<float> residual = some_floats({kTokens, 4});
  Tensor<float> slope = some_floats({kTokens, 4});
  Tensor<float> output;
  LayerTerms terms(std::size_t layer) {
    output = some_output(layer);
    return {.layer = layer,
            .query_begin = 0,
            .attention = stack.layer(layer),
            .values = values.view(),
            .output_projection = output_projection.view(),
            .residual = residual.view(),
            .output = output.view()};
  }
  AttentionGraph graph = attention_graph(stack);
  InputText input = some_input();
  Report report = some_report(input, graph);
  Report generation = some_generation(graph);

 private:
  // [layer, head, query, key]: different weights, rows that sum to 1.
  static Tensor<float> some_attention(bool causal) {
    Tensor<float> weights({kLayers, kHeads, kTokens, kTokens});
    for (std::size_t l = 0; l < kLayers; ++l) {
      for (std::size_t h = 0; h < kHeads; ++h) {
        for (std::size_t q = 0; q < kTokens; ++q) {
          const std::size_t keys = causal ? q + 1 : kTokens;
          double sum = 0.0;
          for (std::size_t k = 0; k < keys; ++k) sum += some_number(l, h, q, k);
          for (std::size_t k = 0; k < keys; ++k)
            weights(l, h, q, k) = static_cast<float>(some_number(l, h, q, k) / sum);
        }
      }
    }
    return weights;
  }

  static Tensor<float> some_gradient() {
    Tensor<float> slopes({kLayers, kHeads, kTokens, kTokens});
    for (std::size_t at = 0; at < slopes.size(); ++at) slopes.data()[at] = static_cast<float>(at % 7) - 3.0F;
    return slopes;
  }

  static Tensor<float> some_floats(std::vector<std::size_t> shape) {
    Tensor<float> floats(std::move(shape));
    for (std::size_t at = 0; at < floats.size(); ++at) floats.data()[at] = static_cast<float>(5 * at % 9) / 4.0F - 1.0F;
    return floats;
  }

  // y_i = x_i + sum_j T_ij.
  Tensor<float> some_output(std::size_t layer) const {
    Tensor<float> sum = residual;
    for (std::size_t h = 0; h < kHeads; ++h) {
      for (std::size_t i = 0; i < kTokens; ++i) {
        for (std::size_t j = 0; j < kTokens; ++j) {
          for (std::size_t w = 0; w < 2; ++w) {
            const float written = stack.layer(layer)(h, i, j) * values(j, 0, w);
            for (std::size_t d = 0; d < 4; ++d) sum(i, d) += written * output_projection(h, w, d);
          }
        }
      }
    }
    return sum;
  }

  static double some_number(std::size_t l, std::size_t h, std::size_t q, std::size_t k) {
    return static_cast<double>((7 * l + 5 * h + 3 * q + 4 * k) % 11 + 1);
  }

  // "The keys rust", as a tokenizer of subwords has it.
  static InputText some_input() {
    InputText input;
    input.text = "The keys rust";
    input.tokens = {{"[CLS]", {}, {}, true, {}}, {"the", 0, 3, false, 0},   {"key", 4, 7, false, 1},
                    {"##s", 7, 8, false, 1},     {"rust", 9, 13, false, 2}, {"[SEP]", {}, {}, true, {}}};
    return input;
  }

  static Report some_report(const InputText& input, const AttentionGraph& graph) {
    Report report;
    report.settings.methods = {Method::kRollout};
    report.settings.layers = {kLayers};
    report.model = {"tiny", "bert", kLayers, kHeads, false};
    report.input.text = input.text;
    report.input.tokens = input.tokens;
    for (std::size_t t = 0; t < kTokens; ++t) report.output_tokens.push_back(t);
    report.rollout = rollout(graph, {.layers = {kLayers}});
    return report;
  }

  // The prompt "The keys", continued by " rust".
  static Report some_generation(const AttentionGraph& graph) {
    Report report;
    report.settings.methods = {Method::kRollout};
    report.settings.layers = {kLayers};
    report.model = {"tiny.gguf", "llama", kLayers, kHeads, true};
    report.input.kind = "generation";
    report.input.text = "The keys";
    report.input.tokens = {{"The", 0, 3, false, 0}, {" keys", 3, 8, false, 1}};
    report.generation.emplace();
    report.generation->text = " rust";
    report.generation->tokens = {{5, " rust", 0, 5, false, 0.5, {}}};
    report.generation->stopped = "length";
    report.output_token = 1;
    report.output_tokens = {1};
    const std::vector<double> row = rollout_row(graph, 1, kLayers);
    report.rollout = Tensor<double>({1, 1, 2}, {row[0], row[1]});
    return report;
  }
};

}  // namespace attnflow
