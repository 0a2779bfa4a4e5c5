// A small handmade generation, for tests of writers.
#pragma once

#include <cstddef>

#include "attnflow/attribution/note.h"
#include "attnflow/report/report.h"

namespace attnflow::test {

// "<s>The sun, is" continued by " hot.", layers 1 and 2. Rollout of token t, prompt token j, layer index l: (j + 1) /
// 20 + t / 100 + l / 1000; raw is half of it, flow (of token 1, layer 2) a quarter. Generated columns of rollout hold
// 0.01 for s < t.
inline Report small_generation() {
  Report report;
  report.settings.layers = {1, 2};
  report.settings.top_k = 3;
  report.model = {"tiny.gguf", "llama", 2, 3, true};
  report.input.kind = "generation";
  report.input.text = "The sun, is";
  report.input.tokens = {{"<s>", {}, {}, true, {}, 0},
                         {"The", 0, 3, false, 0, 0},
                         {" sun", 4, 7, false, 1, 0},
                         {",", 7, 8, false, 2, 0},
                         {" is", 9, 11, false, 3, 0}};
  Generation& generation = report.generation.emplace();
  generation.sampling = {0.5, 0.9, 42};
  generation.text = " hot.";
  generation.tokens = {{11, " hot", 1, 4, false, 0.625, {{" hot", 0.625}, {" a", 0.125}}},
                       {12, ".", 4, 5, false, 0.25, {{"!", 0.5}, {".", 0.25}}},
                       {2, "</s>", 5, 5, true, 0.875, {{"</s>", 0.875}}}};
  generation.stopped = "end";
  generation.sink_share = Tensor<double>({2, 3});
  report.output_token = 4;
  report.output_tokens = {4, 5, 6};
  report.rollout = Tensor<double>({2, 3, 5});
  report.rollout_beside.generated = Tensor<double>({2, 3, 3});
  report.raw = Tensor<double>({2, 3, 5});
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t l = 0; l < 2; ++l) {
      for (std::size_t j = 0; j < 5; ++j) {
        const double value =
            static_cast<double>(j + 1) / 20.0 + static_cast<double>(t) / 100.0 + static_cast<double>(l) / 1000.0;
        report.rollout(l, t, j) = value;
        report.raw(l, t, j) = value / 2.0;
      }
      for (std::size_t s = 0; s < t; ++s) report.rollout_beside.generated(l, t, s) = 0.01;
      generation.sink_share(l, t) = 0.5 + static_cast<double>(l) / 10.0;
    }
  }
  report.flow_output_tokens = {5};
  report.flow_layers = {2};
  report.flow = Tensor<double>({1, 1, 5});
  report.flow_gap = Tensor<double>({1, 1, 5});
  report.flow_degenerate = Tensor<std::uint8_t>({1, 1, 5});
  for (std::size_t j = 0; j < 5; ++j) {
    report.flow(0, 0, j) = report.rollout(1, 1, j) / 4.0;
    report.flow_gap(0, 0, j) = 1e-7;
  }
  report.flow_degenerate(0, 0, 3) = 2;
  generation.excluded = {{"punctuation", {3}}, {"tokens 0, 3", {0, 3}}};
  report.notes = {Note("A note.")};
  return report;
}

}  // namespace attnflow::test
