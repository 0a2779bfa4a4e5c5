// Tests decoders against output of transformers (tests/golden/decoders), and against a published trace of one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "attnflow/base/base64.h"
#include "attnflow/files/array_file.h"
#include "attnflow/model/decoder_contract_for_test.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/prediction.h"
#include "attnflow/model/torch/golden_for_test.h"

namespace attnflow::decoder_golden_test {
namespace {

using Json = nlohmann::json;
using test::expect_close;
using test::expect_rows;
using test::kAttentionTolerance;
using test::KeptRows;
using test::largest;
using test::largest_difference;

// Relative to the largest logit if that is above 1: random models' logits reach 10, where float32 sums in a different
// order differ by a few units of 6e-7.
constexpr double kLogitTolerance = 2e-5;

struct GoldenCase {
  const Json& model;
  const Json& json;
  std::filesystem::path file;
  std::size_t number = 0;
  std::vector<std::int64_t> ids = json.at("ids");

  Array array(const std::string& name) const { return test::case_array(file, number, name); }
};

// Calls check(decoder, case) for every case that has `key`; returns their number.
template <typename Check>
std::size_t each_case(const std::string& key, const Check& check) {
  std::size_t cases = 0;
  for (const Json& model : test::decoder_index()) {
    const auto name = model.at("name").get<std::string>();
    const std::unique_ptr<Decoder> decoder = ModelFiles(test::golden_decoders() / name).load_decoder();
    for (std::size_t number = 0; number < model.at("cases").size(); ++number) {
      const Json& one = model.at("cases").at(number);
      if (!one.contains(key)) continue;
      SCOPED_TRACE(name + ", case " + std::to_string(number));
      check(*decoder, GoldenCase{model, one, test::golden_decoders() / (name + ".npz"), number});
      ++cases;
    }
  }
  return cases;
}

TEST(DecoderGolden, AttentionAndLogitsOfEveryModel) {
  const std::size_t cases = each_case("ids", [](Decoder& decoder, const GoldenCase& one) {
    KeptRows sink;
    const ModelOutput output =
        decoder.run({one.ids, {}}, &sink, {test::to_positions(one.array("logit_positions").to_int64("positions"))});
    expect_rows(sink, one.array("attention").to_float("attention"),
                test::to_positions(one.array("queries").to_int64("queries")), kAttentionTolerance);
    expect_close(output.logits, one.array("logits").to_float("logits"), kLogitTolerance);
    EXPECT_EQ(decoder.length(), one.ids.size());
  });
  EXPECT_GE(cases, 36U);
}

TEST(DecoderGolden, TwoChunks) {
  const std::size_t cases = each_case("split", [](Decoder& decoder, const GoldenCase& one) {
    const std::size_t split = one.json.at("split");
    const Tensor<float> logits = one.array("append_logits").to_float("logits");
    decoder.clear();
    const std::span<const std::int64_t> ids = one.ids;
    expect_close(decoder.append(ids.first(split), nullptr), logits[0], kLogitTolerance);
    KeptRows sink;
    expect_close(decoder.append(ids.subspan(split), &sink), logits[1], kLogitTolerance);
    std::vector<std::size_t> queries(ids.size() - split);
    std::iota(queries.begin(), queries.end(), split);
    expect_rows(sink, one.array("append_attention").to_float("attention"), queries, kAttentionTolerance);
  });
  EXPECT_GE(cases, 7U);
}

TEST(DecoderGolden, Gradients) {
  const std::size_t cases = each_case("gradients", [](Decoder& decoder, const GoldenCase& one) {
    const std::size_t label = one.model.at("label");
    const std::vector<ScoreTarget> targets = {
        {ScoreTarget::Kind::kLogit, label, {}},
        {ScoreTarget::Kind::kProbability, label, {}},
        {ScoreTarget::Kind::kProbabilityDifference, label, {one.model.at("other").get<std::size_t>()}}};
    const std::vector<TextInput> inputs(targets.size(), TextInput{one.ids, {}});
    const std::vector<InputGradient> found = gradients_of(decoder).input_gradients(inputs, targets);
    ASSERT_EQ(found.size(), targets.size());
    for (std::size_t t = 0; t < targets.size(); ++t) {
      SCOPED_TRACE(test::kTargetNames.at(t));
      expect_close(found[t].embedding, one.array("embedding").to_float("embedding"), 1e-6);
      // A logit is as precise as the largest in its row.
      const Tensor<float> logits = one.array("logits").to_float("logits");
      test::expect_gradient(
          found[t], test::kTargetNames.at(t), [&](const std::string& key) { return one.array(key); },
          t == 0 ? largest(logits[logits.extent(0) - 1].span()) : 1.0);
    }
  });
  EXPECT_GE(cases, 9U * 2U);
}

TEST(DecoderGolden, LoadModelTakesDecoders) {
  const std::unique_ptr<TextModel> model = ModelFiles(test::golden_decoders() / "llama_grouped").load_text();
  EXPECT_EQ(model->info().head, ModelHead::kCausalLm);
  EXPECT_EQ(model->decoder(), model.get());
}

// GPT-2 with 3 layers, 3 heads, hidden size 48 and 3 tokens, trained to sort, in minGPT's form, with the first layer's
// intermediate results and the final probabilities for 3 inputs.
class GptNanoSort {
 public:
  explicit GptNanoSort(const std::filesystem::path& data)
      : weights_(Json::parse(test::get(data / "gpt-nano-sort" / "model.json"))),
        trace_(Json::parse(test::get(data / "gpt-nano-sort" / "t0-partials.json"))) {
    const Json& config = weights_.at("config");
    const Json written = {{"model_type", "gpt2"},
                          {"n_embd", config.at("n_embd")},
                          {"n_layer", config.at("n_layer")},
                          {"n_head", config.at("n_head")},
                          {"n_positions", config.at("block_size")},
                          {"vocab_size", config.at("vocab_size")},
                          {"tie_word_embeddings", false}};
    test::put(folder_ / "config.json", written.dump());
    std::vector<NamedArray> arrays;
    for (const auto& [name, json] : weights_.items()) {
      if (name == "config") continue;
      Tensor<float> values = tensor(json);
      // Maps inside layers are stored [out, in] here, and transposed in Hugging Face's GPT-2.
      const bool map = name.find(".attn.c_") != std::string::npos || name.find(".mlp.c_") != std::string::npos;
      if (map && values.rank() == 2) values = transposed(values);
      arrays.push_back({name, Array::from(values.view())});
    }
    write_safetensors(folder_ / "model.safetensors", arrays);
  }

  const std::filesystem::path& folder() const { return folder_.path(); }
  Tensor<float> trace(const std::string& name) const { return tensor(trace_.at(name)); }

 private:
  static Tensor<float> tensor(const Json& json) {
    Tensor<float> values(json.at("shape").get<Shape>());
    EXPECT_TRUE(base64_decode(json.at("data").get<std::string>(), std::as_writable_bytes(values.span())));
    return values;
  }
  static Tensor<float> transposed(const Tensor<float>& matrix) {
    Tensor<float> result({matrix.extent(1), matrix.extent(0)});
    for (std::size_t i = 0; i < matrix.extent(0); ++i) {
      for (std::size_t j = 0; j < matrix.extent(1); ++j) result(j, i) = matrix(i, j);
    }
    return result;
  }

  Json weights_;
  Json trace_;
  test::TempFolder folder_;
};

TEST(DecoderGolden, GptNanoSort) {
  const char* const data = std::getenv("ATTNFLOW_SHARED_DATA");
  if (data == nullptr) GTEST_SKIP() << "ATTNFLOW_SHARED_DATA is not set";
  const GptNanoSort nano(data);
  const std::unique_ptr<Decoder> decoder = ModelFiles(nano.folder()).load_decoder();
  const Tensor<float> ids = nano.trace("idx");          // [input, n]
  const Tensor<float> attention = nano.trace("attSm");  // [input, head, query, key] of the first layer
  const Tensor<float> logits = nano.trace("lm_head");   // [input, n, vocabulary]
  const Tensor<float> probabilities = nano.trace("probs");
  ASSERT_EQ(ids.shape(), (Shape{3, 11}));
  for (std::size_t i = 0; i < ids.extent(0); ++i) {
    SCOPED_TRACE("input " + std::to_string(i));
    TextInput input;
    RunOptions options;
    for (std::size_t p = 0; p < ids.extent(1); ++p) {
      input.ids.push_back(static_cast<std::int64_t>(ids(i, p)));
      options.logit_positions.push_back(p);
    }
    KeptRows sink;
    const ModelOutput output = decoder->run(input, &sink, options);
    ASSERT_EQ(sink.layers(), 3U);
    for (std::size_t head = 0; head < 3; ++head) {
      for (std::size_t query = 0; query < 11; ++query) {
        EXPECT_LE(largest_difference(sink.row(1, head, query, 11), attention[i][head][query].span()), 1e-6);
      }
    }
    expect_close(output.logits, logits[i], kLogitTolerance);
    for (std::size_t p = 0; p < 11; ++p) {
      const std::vector<double> found = softmax(output.logits[p].span());
      for (std::size_t token = 0; token < 3; ++token) {
        EXPECT_NEAR(found[token], static_cast<double>(probabilities(i, p, token)), 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace attnflow::decoder_golden_test
