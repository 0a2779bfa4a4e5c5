#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/error_for_test.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/gradient_mixing.h"
#include "attnflow/graph/layers.h"
#include "attnflow/graph/mixing.h"

namespace attnflow::graph_refusals_test {
namespace {

TEST(GraphRefusals, AreWholeSentences) {
  const Tensor<float> good({1, 2, 2}, {1, 0, 0.5, 0.5}), bad({1, 2, 2}, {1, 0, -0.5, 0.5}), oblong({1, 2, 3});
  const Tensor<float> infinite({1, 2, 2}, {1, 0, HUGE_VALF, 0});
  const Tensor<double> negative({1, 2, 2}, {1, 0, -0.5, 0.5}), flat({2, 2});
  const auto gradients = [&](std::size_t layer) {
    return LayerGradients{.layer = layer, .attention = good.view(), .attention_gradient = good.view()};
  };
  GradientGraphSink sink(2);
  sink.layer(gradients(2));
  struct Row {
    ErrorKind kind;
    std::string message;
    std::function<void()> action;
  };
  const std::vector<Row> rows = {
      {ErrorKind::kBadFile,
       "expected attention weights that are finite and at least 0, found -0.5; the model's weights are damaged or "
       "overflow in float32",
       [&] { fused_weights(bad.view(), {}); }},
      {ErrorKind::kUsage, "mask-columns: expected positions below 2 (the number of tokens), found 2",
       [&] { fused_weights(good.view(), {.mask_columns = {2}}); }},
      {ErrorKind::kUsage,
       "discard: expected whole layers, whose smallest weights it drops, found chunks of queries; remove --discard",
       [&] { fused_rows(good.view(), {.discard = 0.5}, 0); }},
      {ErrorKind::kUsage,
       "discard: expected whole layers, whose smallest weights it drops, found chunks of queries; remove --discard",
       [] { ContributionGraphSink(1, {.removal = {.discard = 0.5}}, 8); }},
      {ErrorKind::kUsage, "--layers: expected layers from 2 to 3 (above --start-layer 1), found 1",
       [] { resolve_layers({1}, 1, 3); }},
      {ErrorKind::kOther,
       "gradient mixing: expected attention [head, query, key] of as many queries as keys with a gradient of the same "
       "shape, found [1, 2, 3] and [1, 2, 3]",
       [&] { gradient_weights(oblong.view(), oblong.view()); }},
      {ErrorKind::kBadFile,
       "expected attention weights that are finite and at least 0, found -0.5; the model's weights are damaged or "
       "overflow in float32",
       [&] { gradient_weights(bad.view(), good.view()); }},
      {ErrorKind::kBadFile,
       "expected gradients of attention that are finite, found inf; the model's weights are damaged or overflow in "
       "float32",
       [&] { gradient_weights(good.view(), infinite.view()); }},
      {ErrorKind::kOther, "gradient mixing: expected each layer from 1 to 2 once, found layer 3",
       [&] { sink.layer(gradients(3)); }},
      {ErrorKind::kOther, "gradient mixing: expected each layer from 1 to 2 once, found layer 2 again",
       [&] { sink.layer(gradients(2)); }},
      {ErrorKind::kOther, "gradient mixing: expected attention and gradients of 2 layers, found none of layer 1",
       [&] { sink.take(); }},
      {ErrorKind::kBadFile,
       "mixing alti: expected contributions [layer, query, key] of as many queries as keys, found [2, 2]",
       [&] { contribution_graph(flat.view(), {}); }},
      {ErrorKind::kBadFile,
       "mixing alti: expected contributions that are finite and at least 0, found -0.5 at layer 1, query 1, key 0",
       [&] { contribution_graph(negative.view(), {}); }},
  };
  for (const Row& row : rows) EXPECT_EQ(test::refusal(row.kind, row.action), row.message);
}

}  // namespace
}  // namespace attnflow::graph_refusals_test
