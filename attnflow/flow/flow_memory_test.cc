#include "attnflow/flow/flow_memory.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/flow/flow.h"
#include "attnflow/graph/random_stack_for_test.h"

namespace attnflow::flow_memory_test {
namespace {

using internal::check_flow_memory;
using internal::flow_bytes;
using internal::FlowSize;

constexpr std::size_t kGiB = std::size_t{1} << 30;

FlowSize all_pairs(std::size_t tokens, std::size_t layers, std::size_t threads) {
  return {.tokens = tokens, .input_tokens = tokens, .depth = layers, .layers = layers, .threads = threads};
}

std::string refusal(const FlowSize& size, std::size_t available) {
  try {
    check_flow_memory(size, available);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOther);
    return error.what();
  }
  return "";
}

TEST(FlowMemory, CountsWhatGrowsWithThePairs) {
  // 512 tokens, 6 layers, 2 threads: 2^18 arcs per layer; 8 bytes for each of 6 layers, 17 for results, 16 for each of
  // 4 layers and 2 threads, and a bit for each of 6 layers and for each of 4 layers and 2 threads; 16 MiB per thread
  // for kept flows; one mebibyte.
  const std::size_t arcs = std::size_t{1} << 18;
  const std::size_t bytes = arcs * (8 * 6 + 17 * 6 + 16 * 4 * 2) + arcs * (6 + 4 * 2) / 8 + (std::size_t{33} << 20);
  EXPECT_EQ(flow_bytes(all_pairs(512, 6, 2)), bytes + bytes / 20);
  // One layer needs no blocks per thread; threads beyond the number of input tokens are not used.
  EXPECT_EQ(flow_bytes(all_pairs(512, 1, 2)), flow_bytes(all_pairs(512, 1, 64)));
  EXPECT_EQ(flow_bytes(all_pairs(8, 6, 8)), flow_bytes(all_pairs(8, 6, 9)));
  EXPECT_GT(flow_bytes(all_pairs(512, 6, 3)), flow_bytes(all_pairs(512, 6, 2)));
}

TEST(FlowMemory, SizesThatOverflowDoNotFit) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  for (const FlowSize& size :
       {all_pairs(kMost, 6, 1), all_pairs(kMost / 4, 1, 1), all_pairs(2, kMost, 1),
        all_pairs(std::size_t{1} << 31, 30, 8),
        FlowSize{
            .tokens = std::size_t{1} << 30, .input_tokens = 1, .depth = kMost, .layers = kMost, .one_head = true}}) {
    EXPECT_EQ(flow_bytes(size), std::nullopt);
    EXPECT_NE(refusal(size, kMost - 1), "");
    EXPECT_NE(refusal(size, 0), "");
  }
}

TEST(FlowMemory, SaysWhatIsNeededAndWhatWouldFit) {
  const FlowSize size = all_pairs(4096, 30, 16);  // 131 GiB, most of it for threads
  const std::string message = refusal(size, 24 * kGiB);
  for (const char* part : {"4096 tokens", "30 layers", "131 GiB", "found 24 GiB", "1 thread (",
                           "one output token on 1 thread (", "layers instead of 30"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << ": " << message;
  }
  FlowSize fewer = size;
  fewer.threads = 1;
  EXPECT_EQ(refusal(fewer, 24 * kGiB), "");
  fewer.threads = 2;
  EXPECT_NE(refusal(fewer, 24 * kGiB), "");
  FlowSize row = size;
  row.one_output_token = true;
  row.threads = 1;
  EXPECT_EQ(refusal(row, 24 * kGiB), "");

  const std::string tiny = refusal(size, kGiB / 8);
  EXPECT_NE(tiny.find("input tokens, on one thread"), std::string::npos) << tiny;
  EXPECT_NE(refusal(size, 0).find("nothing smaller would fit"), std::string::npos);
}

TEST(FlowMemory, ExactlyEnoughIsEnough) {
  const FlowSize size = all_pairs(300, 5, 3);
  const std::size_t bytes = *flow_bytes(size);
  EXPECT_EQ(refusal(size, bytes), "");
  EXPECT_NE(refusal(size, bytes - 1), "");
  check_flow_memory(size, std::nullopt);  // if the limit is unknown, nothing is rejected
}

TEST(FlowMemory, AttentionFlowRefusesBeforeItStarts) {
  const AttentionGraph graph = attention_graph(random_stack({.layers = 4, .heads = 2, .tokens = 40, .seed = 1}));
  bool started = false;
  FlowOptions options{
      .threads = 2, .memory_limit = 100'000, .progress = [&](std::size_t, std::size_t) { started = true; }};
  EXPECT_THROW(attention_flow(graph, options), Error);
  EXPECT_FALSE(started);
  options.memory_limit = *flow_bytes(all_pairs(40, 4, 2));
  EXPECT_EQ(attention_flow(graph, options).flow, attention_flow(graph).flow);
  EXPECT_TRUE(started);
}

}  // namespace
}  // namespace attnflow::flow_memory_test
