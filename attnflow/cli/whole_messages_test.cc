// Whole messages of refused command lines, so that a lost word is noticed.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/cli/run_for_test.h"

namespace attnflow {
namespace {

using Arguments = std::vector<std::string>;

TEST(WholeMessages, OfOptions) {
  const std::string golden = ATTNFLOW_SOURCE_DIR "/tests/golden/";
  const Arguments explain = {"explain", "a cabinets b", "--model", golden + "models/bert_masked_lm"};
  const Arguments generate = {"generate", "hi", "--tokens", "2", "--model", golden + "decoders/llama_grouped"};
  const Arguments agreement = {"evaluate", "agreement"};
  struct Row {
    Arguments command, more;
    std::string message;
    ErrorKind kind = ErrorKind::kUsage;
  };
  const std::vector<Row> rows = {
      {agreement, {"--scores", "gradient,gradient"}, "--scores: expected each once, found 'gradient' twice"},
      {agreement, {"--mixing", "alti,alti"}, "--mixing: expected each once, found alti again"},
      {agreement, {"--mixing", "auto"}, "--mixing: expected names of mixings, or all, found auto among them"},
      {agreement, {"--resamples", "0"}, "--resamples: expected at least 1, found 0"},
      {explain, {"--blank", "6"}, "--blank: expected positions from 0 to 5, found 6"},
      {explain, {"--blank", "a"}, "--blank: expected positions such as 0 or 0,5, found 'a'"},
      {explain, {"--method", "raw,raw"}, "--method: expected each method once, found 'raw' twice"},
      {explain, {"--mask-columns", "6"}, "--mask-columns: expected positions from 0 to 5, found 6"},
      {explain,
       {"--mask-columns", "x"},
       "--mask-columns: expected none, first, special, registers or positions such as 0,5, found 'x'"},
      {explain, {"--layers", "3"}, "--layers: expected layers from 1 to 2 (above --start-layer 0), found 3"},
      {explain,
       {"--layers", "1", "--start-layer", "1"},
       "--layers: expected layers from 2 to 2 (above --start-layer 1), found 1"},
      {explain,
       {"--start-layer", "2"},
       "--start-layer: expected a layer from 0 to 1 (below the last of 2 layers), found 2"},
      {explain, {"--heads", "4"}, "--heads: expected mean, max, min or a head from 0 to 3, found 4"},
      {explain, {"--residual", "2"}, "--residual: expected a weight from 0 to 1, found 2"},
      {explain, {"--discard", "1"}, "--discard: expected a share of at least 0 and below 1, found 1"},
      {explain, {"--flow-tolerance", "2"}, "--flow-tolerance: expected a value from 1e-12 to 1, found 2"},
      {explain, {"--top-k", "0"}, "--top-k: expected at least 1, found 0"},
      {explain,
       {"--method", "flow", "--certificate", "1,2", "--certificate", "1,2"},
       "--certificate: expected each pair once, found positions 1,2 twice"},
      {explain,
       {"--method", "flow", "--certificate", "1,6"},
       "--certificate: expected auto, cls, mask, last or a position from 0 to 5, found 6"},
      {explain, {"--referents", "a,a"}, "--referents: expected different words, found 'a' twice"},
      {explain,
       {"--referents", "a,zebra"},
       "--referents: expected words of the text or positions from 0 to 5, found 'zebra'; the words are a cabinets b"},
      {explain,
       {"--referents", "a,cabinets"},
       "--referents: expected words of one token each, found 'cabinets', which is 2 tokens; the flow to a word is not "
       "the sum of the flows to its subword tokens: pass --words, or exclude flow with --method raw,rollout"},
      {explain, {"-o", "a.npz", "-o", "a.npz"}, "expected different files as outputs (-o), found 'a.npz' twice"},
      {explain,
       {"-o", "a.npz", "-o", "./a.npz"},
       "expected different files as outputs (-o), found 'a.npz' and './a.npz', which are the same file"},
      {{"explain", " "}, {}, "expected text with at least one token, found none (empty or only whitespace)"},
      {{"explain", "a [MASK]", "--model", explain[3]},
       {"--candidates", "cabinetss"},
       "--candidates: expected words that are one token each, found 'cabinetss', which is 3 tokens"},
      {generate, {"--flow-tokens", "2"}, "--flow-tokens: expected generated tokens from 0 to 1, found 2"},
      {generate, {"--normalize", "row"}, "--normalize: expected none or receptive-field for a generation, found row"},
      {generate, {"--begin-with", "298"}, "--begin-with: expected token ids of llama_grouped from 0 to 297, found 298"},
      {generate, {"--temperature", "-1"}, "--temperature: expected a number of at least 0, found -1"},
      {generate, {"--top-p", "0"}, "--top-p: expected a probability above 0 and at most 1, found 0"},
      {{"serve"},
       {"--token", "a b"},
       "--token: expected visible ASCII characters without spaces, found others; 'openssl rand -hex 24' generates one"},
      {{"serve"}, {"--max-body", "0"}, "--max-body: expected at least 1 byte, found 0"},
  };
  for (const Row& row : rows) {
    Arguments all = row.command;
    all.insert(all.end(), row.more.begin(), row.more.end());
    const Ran ran = run_in_process(all);
    EXPECT_EQ(ran.err, fmt::format("attnflow: {}\n", row.message)) << fmt::format("{}", fmt::join(all, " "));
    EXPECT_EQ(ran.code, static_cast<int>(row.kind));
  }
}

}  // namespace
}  // namespace attnflow
