// Tests attention and predictions against output of transformers (tests/golden).
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "attnflow/model/model_files.h"
#include "attnflow/model/prediction.h"
#include "attnflow/model/torch/golden_for_test.h"

namespace attnflow::golden_test {
namespace {

using Json = nlohmann::json;
using test::golden_input;
using test::kAttentionTolerance;
using test::kPredictionTolerance;
using test::largest_difference;
using test::StackSink;

// `expected`: {"position", "top": [{"id", "probability"}]}.
void check_masked_predictions(const Json& expected, const std::vector<std::size_t>& positions,
                              const Tensor<float>& logits) {
  for (const Json& prediction : expected) {
    const auto position = prediction.at("position").get<std::size_t>();
    const auto row = std::find(positions.begin(), positions.end(), position);
    ASSERT_NE(row, positions.end());
    const TensorView<const float> values = logits[static_cast<std::size_t>(row - positions.begin())];
    std::vector<std::int64_t> ids;
    for (const Json& top : prediction.at("top")) ids.push_back(top.at("id").get<std::int64_t>());
    const auto text = [](std::int64_t id) { return std::to_string(id); };
    const std::vector<Prediction> candidates = candidate_predictions(values.span(), ids, text);
    for (std::size_t k = 0; k < ids.size(); ++k) {
      EXPECT_NEAR(candidates[k].probability, prediction.at("top")[k].at("probability").get<double>(),
                  kPredictionTolerance);
    }
    EXPECT_EQ(top_predictions(values.span(), 1, text).at(0).id, ids.at(0));
  }
}

void check_case(Encoder& model, const Json& golden, const std::filesystem::path& arrays, std::size_t number) {
  RunOptions options;
  if (model.info().head == ModelHead::kMaskedLm) {
    options.logit_positions =
        test::to_positions(test::case_array(arrays, number, "logit_positions").to_int64("positions"));
  }
  StackSink sink;
  const ModelOutput output = model.run(golden_input(golden), &sink, options);
  sink.expect_close_to(test::case_array(arrays, number, "attention").to_float("attention"));
  if (model.info().head == ModelHead::kEmbedding) {  // tests/oracle/test_embedding.py has its values
    EXPECT_EQ(output.logits.shape(), (Shape{model.info().hidden}));
    return;
  }
  test::expect_within(output.logits, test::case_array(arrays, number, "logits").to_float("logits"),
                      kPredictionTolerance);
  if (model.info().head == ModelHead::kMaskedLm) {
    check_masked_predictions(golden.at("predictions"), options.logit_positions, output.logits);
  } else {
    const Tensor<double> expected = test::case_array(arrays, number, "probabilities").to_double("probabilities");
    EXPECT_LE(largest_difference<double>(softmax(output.logits.span()), expected.span()), kPredictionTolerance);
    EXPECT_EQ(model.info().labels, golden.at("predictions").at("labels").get<std::vector<std::string>>());
  }
}

TEST(Golden, EverySmallModel) {
  std::size_t cases = 0;
  for (const Json& golden : test::golden_index()) {
    const auto name = golden.at("name").get<std::string>();
    const std::unique_ptr<Encoder> model = ModelFiles(test::golden_models() / name).load_encoder();
    for (std::size_t number = 0; number < golden.at("cases").size(); ++number) {
      const Json& one = golden.at("cases")[number];
      SCOPED_TRACE(name + ", " + one.at("name").get<std::string>());
      check_case(*model, one, test::golden_models() / (name + ".npz"), number);
      ++cases;
    }
  }
  EXPECT_GE(cases, 60U);
}

// Weights need not be aligned in the file: an extra space in the header moves them all by a byte.
TEST(Golden, MisalignedWeights) {
  for (const Json& golden : test::golden_index()) {
    const auto name = golden.at("name").get<std::string>();
    if (name != "bert_masked_lm" && name != "bert_float16") continue;
    const test::ModelCopy copy(name);
    const std::filesystem::path file = copy.path() / "model.safetensors";
    const test::WeightsFile weights = test::WeightsFile::read(file);
    for (const std::size_t padding : {1U, 2U, 3U}) {
      weights.write(file, padding);
      const std::unique_ptr<Encoder> model = ModelFiles(copy.path()).load_encoder();
      check_case(*model, golden.at("cases")[1], test::golden_models() / (name + ".npz"), 1);
    }
  }
}

// A large model's golden file holds all attention of short inputs and a sample of that of long ones.
void check_large_case(Encoder& model, const Json& golden, const std::filesystem::path& arrays) {
  RunOptions options;
  const bool masked_lm = model.info().head == ModelHead::kMaskedLm;
  if (masked_lm) {
    options.logit_positions = test::to_positions(read_npz(arrays, "logit_positions").to_int64("positions"));
  }
  StackSink sink;
  const ModelOutput output = model.run(golden_input(golden), &sink, options);
  if (golden.at("attention") == "full") {
    sink.expect_close_to(read_npz(arrays, "attention").to_float("attention"));
  } else {
    ASSERT_EQ(sink.layers, model.info().layers);
    const TensorView<const float> attention(sink.values.data(),
                                            {sink.layers, sink.shape[0], sink.shape[1], sink.shape[2]});
    const Tensor<std::int64_t> index = read_npz(arrays, "attention_index").to_int64("attention_index");
    const Tensor<float> value = read_npz(arrays, "attention_value").to_float("attention_value");
    std::vector<float> found;
    for (std::size_t s = 0; s < index.extent(0); ++s) {
      found.push_back(attention(index(s, 0), index(s, 1), index(s, 2), index(s, 3)));
    }
    ASSERT_GT(found.size(), 0U);
    EXPECT_LE(largest_difference(found, value.span()), kAttentionTolerance);

    const Tensor<std::int64_t> rows = read_npz(arrays, "attention_row_index").to_int64("attention_row_index");
    const Tensor<float> row_value = read_npz(arrays, "attention_row_value").to_float("attention_row_value");
    ASSERT_GT(rows.extent(0), 0U);
    for (std::size_t r = 0; r < rows.extent(0); ++r) {
      const auto row = attention[static_cast<std::size_t>(rows(r, 0))][static_cast<std::size_t>(rows(r, 1))]
                                [static_cast<std::size_t>(rows(r, 2))];
      EXPECT_LE(largest_difference(row.span(), row_value[r].span()), kAttentionTolerance);
    }
  }
  if (masked_lm) {
    test::expect_within(output.logits, read_npz(arrays, "logits").to_float("logits"), kPredictionTolerance);
    check_masked_predictions(golden.at("predictions"), options.logit_positions, output.logits);
  }
}

void check_large_model(const std::filesystem::path& folder, const std::string& golden_name) {
  const std::filesystem::path golden = test::golden_folder(golden_name);
  const Json cases = Json::parse(test::get(golden / "cases.json")).at("cases");
  const std::unique_ptr<Encoder> model = ModelFiles(folder).load_encoder();
  ASSERT_FALSE(cases.empty());
  for (const Json& one : cases) {
    const auto name = one.at("name").get<std::string>();
    SCOPED_TRACE(golden_name + ", " + name);
    check_large_case(*model, one, golden / (name + ".npz"));
  }
}

TEST(Golden, MiniLm) {
  const char* const folder = std::getenv("ATTNFLOW_MINILM_DIR");
  if (folder == nullptr) GTEST_SKIP() << "ATTNFLOW_MINILM_DIR is not set";
  check_large_model(folder, "minilm");
}

TEST(Golden, Albert) {
  const char* const data = std::getenv("ATTNFLOW_SHARED_DATA");
  if (data == nullptr) GTEST_SKIP() << "ATTNFLOW_SHARED_DATA is not set";
  check_large_model(std::filesystem::path(data) / "albert-uspto", "albert_uspto");
}

}  // namespace
}  // namespace attnflow::golden_test
