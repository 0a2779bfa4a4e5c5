// Tests decoders against output of transformers (tests/golden/decoders), and against a published trace of one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnflow/base/base64.h"
#include "attnflow/files/array_file.h"
#include "attnflow/model/decoder_contract_for_test.h"
#include "attnflow/model/decoder_for_test.h"
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

// Relative to the largest logit if that is above 1: the random models' logits reach 10, and float32 sums in a different
// order differ by a few units of 6e-7 there.
constexpr double kLogitTolerance = 2e-5;

struct GoldenCase {
  std::size_t number = 0;
  std::vector<std::int64_t> ids;
  std::filesystem::path file;
  Array array(const std::string& name) const { return read_npz(file, "case" + std::to_string(number) + "_" + name); }
};

struct GoldenDecoder {
  Json json;
  std::string name;
  std::filesystem::path folder;

  GoldenCase golden_case(std::size_t number) const {
    GoldenCase found{number, {}, test::golden_decoders() / (name + ".npz")};
    json.at("cases").at(number).at("ids").get_to(found.ids);
    return found;
  }
  std::size_t cases() const { return json.at("cases").size(); }
};

std::vector<GoldenDecoder> decoders() {
  std::vector<GoldenDecoder> all;
  for (const Json& json : test::decoder_index()) {
    const auto name = json.at("name").get<std::string>();
    all.push_back({json, name, test::golden_decoders() / name});
  }
  return all;
}

TEST(DecoderGolden, AttentionAndLogitsOfEveryModel) {
  std::size_t cases = 0;
  for (const GoldenDecoder& golden : decoders()) {
    const std::unique_ptr<Decoder> decoder = ModelFiles(golden.folder).load_decoder();
    for (std::size_t number = 0; number < golden.cases(); ++number) {
      SCOPED_TRACE(golden.name + ", case " + std::to_string(number));
      const GoldenCase one = golden.golden_case(number);
      RunOptions options;
      options.logit_positions = test::to_positions(one.array("logit_positions").to_int64("positions"));
      KeptRows sink;
      const ModelOutput output = decoder->run({one.ids, {}}, &sink, options);
      expect_rows(sink, one.array("attention").to_float("attention"),
                  test::to_positions(one.array("queries").to_int64("queries")), kAttentionTolerance);
      expect_close(output.logits, one.array("logits").to_float("logits"), kLogitTolerance);
      EXPECT_EQ(decoder->length(), one.ids.size());
      ++cases;
    }
  }
  EXPECT_GE(cases, 36U);
}

TEST(DecoderGolden, TwoChunks) {
  std::size_t checked = 0;
  for (const GoldenDecoder& golden : decoders()) {
    const std::unique_ptr<Decoder> decoder = ModelFiles(golden.folder).load_decoder();
    for (std::size_t number = 0; number < golden.cases(); ++number) {
      const Json& json = golden.json.at("cases").at(number);
      if (!json.contains("split")) continue;
      SCOPED_TRACE(golden.name);
      const GoldenCase one = golden.golden_case(number);
      const std::size_t split = json.at("split");
      const Tensor<float> logits = one.array("append_logits").to_float("logits");
      decoder->clear();
      const std::span<const std::int64_t> ids = one.ids;
      expect_close(decoder->append(ids.first(split), nullptr), logits[0], kLogitTolerance);
      KeptRows sink;
      expect_close(decoder->append(ids.subspan(split), &sink), logits[1], kLogitTolerance);
      std::vector<std::size_t> queries;
      for (std::size_t query = split; query < ids.size(); ++query) queries.push_back(query);
      expect_rows(sink, one.array("append_attention").to_float("attention"), queries, kAttentionTolerance);
      ++checked;
    }
  }
  EXPECT_GE(checked, 7U);
}

TEST(DecoderGolden, Gradients) {
  std::size_t checked = 0;
  for (const GoldenDecoder& golden : decoders()) {
    const std::unique_ptr<Decoder> decoder = ModelFiles(golden.folder).load_decoder();
    const std::size_t label = golden.json.at("label");
    const std::size_t other = golden.json.at("other");
    const std::vector<std::pair<std::string, ScoreTarget>> targets = {
        {"logit", {ScoreTarget::Kind::kLogit, label, 0}},
        {"probability", {ScoreTarget::Kind::kProbability, label, 0}},
        {"difference", {ScoreTarget::Kind::kProbabilityDifference, label, other}}};
    for (std::size_t number = 0; number < golden.cases(); ++number) {
      if (!golden.json.at("cases").at(number).contains("gradients")) continue;
      const GoldenCase one = golden.golden_case(number);
      const std::vector<TextInput> inputs(targets.size(), TextInput{one.ids, {}});
      std::vector<ScoreTarget> wanted;
      for (const auto& [name, target] : targets) wanted.push_back(target);
      const std::vector<InputGradient> found = gradients_of(*decoder).input_gradients(inputs, wanted);
      ASSERT_EQ(found.size(), targets.size());
      for (std::size_t t = 0; t < targets.size(); ++t) {
        const std::string& name = targets[t].first;
        SCOPED_TRACE(golden.name + ", case " + std::to_string(number) + ", " + name);
        expect_close(found[t].embedding, one.array("embedding").to_float("embedding"), 1e-6);
        // A logit is as precise as the largest in its row.
        const Tensor<float> logits = one.array("logits").to_float("logits");
        test::expect_gradient(
            found[t], name, [&](const std::string& key) { return one.array(key); },
            name == "logit" ? largest(logits[logits.extent(0) - 1].span()) : 1.0);
        ++checked;
      }
    }
  }
  EXPECT_GE(checked, 9U * 2U * 3U);
}

// load_model also loads any decoder.
TEST(DecoderGolden, LoadModelTakesDecoders) {
  const std::unique_ptr<TextModel> model = ModelFiles(test::golden_decoders() / "llama_grouped").load_text();
  EXPECT_EQ(model->info().head, ModelHead::kCausalLm);
  EXPECT_EQ(model->decoder(), model.get());
}

// GPT-2 with 3 layers, 3 heads, hidden size 48 and a vocabulary of 3, trained to sort: weights in minGPT's form, with
// every intermediate result of the first layer and the final probabilities for 3 inputs.
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
