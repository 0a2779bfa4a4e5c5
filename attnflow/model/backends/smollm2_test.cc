// Tests a real model in both backends, against transformers with the same weights (tests/golden/smollm2).
//
// SmolLM2-135M-Instruct in 4 bits, with a hundred prompts. The torch backend runs the folder that convert_gguf()
// creates, in float32, and must agree with transformers up to the rounding of sums; this also checks the conversion,
// since the golden numbers come from weights that another library read. The llama backend runs the file itself, whose
// products round both sides to 8 bits in blocks of 32; its distance from float32 is bounded. Running the same weights
// in float32 with libllama shows that only these products cause it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>

#include "attnflow/files/gguf.h"
#include "attnflow/files/mapped_file.h"
#include "attnflow/model/convert_gguf.h"
#include "attnflow/model/llama/llama_for_test.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow::smollm2_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::ids_of;
using test::KeptRows;
using test::largest_difference;

constexpr std::size_t kPrompts = 100;
constexpr std::size_t kLeastEqual = 95;
// Relative to the largest logit, about 20: float32 sums in a different order. Measured: 4e-6.
constexpr double kLogitTolerance = 2e-5;
constexpr double kAttentionTolerance = 2e-5;
// For the quantized products, about twice the measured values (docs/generation.md): the standard deviation of a logit's
// error without the part common to a prompt's logits, on which no probability depends; the mean and largest error of an
// attention weight in any layer.
constexpr double kLogitNoise = 0.2;
constexpr double kMeanAttentionError = 6e-3;
constexpr double kLargestAttentionError = 0.3;

fs::path golden() { return test::golden_folder("smollm2"); }

struct Outcome {
  Tensor<float> logits;  // after the last token
  KeptRows rows;

  double logit(std::int64_t id) const { return static_cast<double>(logits.span()[static_cast<std::size_t>(id)]); }
  std::int64_t best() const {
    return std::max_element(logits.span().begin(), logits.span().end()) - logits.span().begin();
  }
};

struct Prompt {
  std::string text;
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> top;  // from transformers, best first
  std::vector<double> top_logits;
  std::map<std::int64_t, double> logits;  // for these and for every 769th token
};

std::vector<Prompt> read_prompts() {
  const Json json = Json::parse(test::get(golden() / "prompts.json"));
  const Tensor<std::int64_t> ids = read_npz(golden() / "logits.npz", "ids").to_int64("ids");
  const Tensor<float> logits = read_npz(golden() / "logits.npz", "logits").to_float("logits");
  std::vector<Prompt> prompts;
  for (const Json& one : json.at("prompts")) {
    Prompt prompt;
    one.at("text").get_to(prompt.text);
    one.at("ids").get_to(prompt.ids);
    one.at("top").get_to(prompt.top);
    one.at("logits").get_to(prompt.top_logits);
    for (std::size_t i = 0; i < prompt.top.size(); ++i) prompt.logits[prompt.top[i]] = prompt.top_logits[i];
    const auto row = logits[prompts.size()];
    for (std::size_t i = 0; i < ids.size(); ++i) prompt.logits[ids.span()[i]] = static_cast<double>(row.span()[i]);
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

struct Results {
  test::TempFolder scratch;
  std::vector<Prompt> prompts = read_prompts();
  std::vector<Outcome> torch, llama;
  std::unique_ptr<Decoder> torch_decoder, llama_decoder;

  fs::path folder() const { return scratch / "smollm2"; }
};

std::vector<Outcome> run_all(Decoder& decoder, const std::vector<Prompt>& prompts, std::size_t step = 1) {
  std::vector<Outcome> runs;
  for (std::size_t i = 0; i < prompts.size(); i += step) {
    Outcome& run = runs.emplace_back();
    decoder.clear();
    run.logits = decoder.append(prompts[i].ids, &run.rows);
  }
  return runs;
}

// The largest error of the known logits, relative to the largest of them.
double logit_error(const Outcome& run, const Prompt& prompt) {
  double error = 0.0;
  double scale = 1.0;
  for (const auto& [id, expected] : prompt.logits) {
    const double difference = std::abs(run.logit(id) - expected);
    error = difference <= error ? error : difference;  // keeps a NaN
    scale = std::max(scale, std::abs(expected));
  }
  return error / scale;
}

// For prompts whose attention is stored: [layer, head, pairs of query and key], keys up to the query.
double attention_error(const Outcome& run, std::size_t prompt) {
  const Tensor<float> expected =
      read_npz(golden() / "attention.npz", "attention_" + std::to_string(prompt)).to_float("attention");
  double largest = 0.0;
  for (std::size_t layer = 0; layer < expected.extent(0); ++layer) {
    for (std::size_t head = 0; head < expected.extent(1); ++head) {
      std::size_t begin = 0;
      for (std::size_t query = 0; query < run.rows.tokens(); ++query) {
        const auto row = expected[layer][head].span().subspan(begin, query + 1);
        const double difference = largest_difference(run.rows.row(layer + 1, head, query), row);
        largest = std::max(largest, difference);
        begin += query + 1;
      }
      EXPECT_EQ(begin, expected.extent(2));
    }
  }
  return largest;
}

constexpr std::size_t kKeptPrompts[] = {8, 26};

class SmolLM2Backends : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* const file = std::getenv("ATTNFLOW_SMOLLM2");
    if (file == nullptr || *file == '\0') return;
    results_ = std::make_unique<Results>();
    convert_gguf(file, results_->folder());
    const LoadOptions options = {.threads = 1};  // if tests share the machine, threads wait for each other
    results_->torch_decoder = ModelFiles(results_->folder()).load_decoder(options);
    results_->llama_decoder = ModelFiles::gguf(file).load_decoder(options);
    results_->torch = run_all(*results_->torch_decoder, results_->prompts);
    results_->llama = run_all(*results_->llama_decoder, results_->prompts);
  }
  static void TearDownTestSuite() { results_.reset(); }

  void SetUp() override {
    if (!results_) GTEST_SKIP() << "ATTNFLOW_SMOLLM2 does not name the model's file";
    ASSERT_EQ(results_->prompts.size(), kPrompts);
  }

  static std::unique_ptr<Results> results_;
};

std::unique_ptr<Results> SmolLM2Backends::results_;

TEST_F(SmolLM2Backends, TokenizersAgree) {
  const Tokenizer tokenizer = Tokenizer::load(results_->folder(), "llama");
  const TextCodec& codec = *results_->llama_decoder->codec();
  for (const Prompt& prompt : results_->prompts) {
    EXPECT_EQ(ids_of(codec.encode(prompt.text)), prompt.ids) << prompt.text;
    EXPECT_EQ(ids_of(tokenizer.encode(prompt.text)), prompt.ids) << prompt.text;
  }
  const std::vector<ChatMessage> messages = {{"user", "What is gravity?"}, {"assistant", "A force."}, {"user", "Why?"}};
  EXPECT_EQ(tokenizer.chat(messages), codec.chat(messages));
  EXPECT_EQ(ids_of(tokenizer.encode(tokenizer.chat(messages))), ids_of(codec.encode(codec.chat(messages))));
  for (std::int64_t id = 0; id < static_cast<std::int64_t>(codec.id_limit()); ++id) {
    ASSERT_EQ(tokenizer.is_end(id), codec.is_end(id)) << id;
    ASSERT_EQ(tokenizer.is_special(id), codec.is_special(id)) << id;
    ASSERT_EQ(tokenizer.bytes(id), codec.bytes(id)) << id;
  }
}

TEST_F(SmolLM2Backends, TorchAgreesWithTransformers) {
  double largest = 0.0;
  for (std::size_t i = 0; i < kPrompts; ++i) {
    const double error = logit_error(results_->torch[i], results_->prompts[i]);
    EXPECT_LE(error, kLogitTolerance) << results_->prompts[i].text;
    EXPECT_EQ(results_->torch[i].best(), results_->prompts[i].top[0]) << results_->prompts[i].text;
    largest = std::max(largest, error);
  }
  RecordProperty("largest_logit_error", std::to_string(largest));
  for (const std::size_t prompt : kKeptPrompts) {
    ASSERT_EQ(results_->torch[prompt].rows.layers(), 30U);
    EXPECT_LE(attention_error(results_->torch[prompt], prompt), kAttentionTolerance);
  }
}

TEST_F(SmolLM2Backends, QuantisedProductsChangeTheBestTokenOnlyNearTies) {
  double squares = 0.0;
  double count = 0.0;
  for (std::size_t i = 0; i < kPrompts; ++i) {
    double sum = 0.0;
    double sum_of_squares = 0.0;
    const auto numbers = static_cast<double>(results_->prompts[i].logits.size());
    for (const auto& [id, expected] : results_->prompts[i].logits) {
      const double error = results_->llama[i].logit(id) - expected;
      sum += error;
      sum_of_squares += error * error;
    }
    squares += sum_of_squares - sum * sum / numbers;
    count += numbers - 1.0;
  }
  const double noise = std::sqrt(squares / count);
  RecordProperty("logit_noise", std::to_string(noise));
  EXPECT_LE(noise, kLogitNoise);

  // The difference between two logits has the standard deviation sqrt(2) noise; three of these are a near tie.
  const double near = 3.0 * std::sqrt(2.0) * noise;
  std::size_t equal = 0;
  double expected_changes = 0.0;
  for (std::size_t i = 0; i < kPrompts; ++i) {
    const Prompt& prompt = results_->prompts[i];
    expected_changes += 0.5 * std::erfc((prompt.top_logits[0] - prompt.top_logits[1]) / (2.0 * noise));
    const std::int64_t best = results_->llama[i].best();
    if (best == prompt.top[0]) {
      ++equal;
      continue;
    }
    const auto known = prompt.logits.find(best);
    ASSERT_NE(known, prompt.logits.end()) << prompt.text << ": token " << best << " is not among the first five";
    const double gap = prompt.top_logits[0] - known->second;
    RecordProperty("gap_" + std::to_string(i), std::to_string(gap));
    EXPECT_LE(gap, near) << prompt.text;
  }
  RecordProperty("near_tie", std::to_string(near));
  RecordProperty("equal", std::to_string(equal));
  RecordProperty("expected_changes", std::to_string(expected_changes));
  EXPECT_GE(equal, kLeastEqual);
}

TEST_F(SmolLM2Backends, QuantisedProductsChangeAttentionALittle) {
  const std::size_t layers = results_->torch[0].rows.layers();
  std::string means;
  std::string largests;
  for (std::size_t layer = 1; layer <= layers; ++layer) {
    double sum = 0.0;
    double count = 0.0;
    double largest = 0.0;
    for (std::size_t i = 0; i < kPrompts; ++i) {
      const KeptRows& exact = results_->torch[i].rows;
      const KeptRows& quantised = results_->llama[i].rows;
      ASSERT_EQ(exact.tokens(), quantised.tokens());
      for (std::size_t head = 0; head < exact.heads(); ++head) {
        for (std::size_t query = 0; query < exact.tokens(); ++query) {
          const std::span<const float> a = exact.row(layer, head, query);
          const std::span<const float> b = quantised.row(layer, head, query);
          ASSERT_EQ(a.size(), b.size());
          largest = std::max(largest, largest_difference(a, b));
          for (std::size_t key = 0; key < a.size(); ++key)
            sum += std::abs(static_cast<double>(a[key]) - static_cast<double>(b[key]));
          count += static_cast<double>(a.size());
        }
      }
    }
    EXPECT_LE(sum / count, kMeanAttentionError) << layer;
    EXPECT_LE(largest, kLargestAttentionError) << layer;
    EXPECT_GT(largest, 0.0) << layer;
    means += std::to_string(sum / count) + " ";
    largests += std::to_string(largest) + " ";
  }
  RecordProperty("mean_attention_errors", means);
  RecordProperty("largest_attention_errors", largests);
}

// Writes the file again with the float32 tensors of convert_gguf(), rows of queries and keys in their original order.
void write_float_gguf(const fs::path& quantised, const fs::path& folder, const fs::path& to) {
  const internal::MappedFile mapping(quantised, "GGUF");
  const internal::GgufHeader header = internal::parse_gguf(mapping.bytes(), quantised.string());
  const SafetensorsFile weights(folder / "model.safetensors");
  const std::string_view bytes(reinterpret_cast<const char*>(mapping.bytes().data()), mapping.bytes().size());
  const std::string& first = header.tensors.at(0).name;
  const std::size_t infos = bytes.find(test::bytes_of(std::uint64_t{first.size()}) + first);
  ASSERT_LT(infos, header.data_begin);
  std::string head(bytes.substr(0, infos));
  std::size_t offset = 0;
  for (const internal::GgufTensor& tensor : header.tensors) {
    head += test::bytes_of(std::uint64_t{tensor.name.size()}) + tensor.name;
    head += test::bytes_of(static_cast<std::uint32_t>(tensor.extents.size()));
    std::size_t numbers = 1;
    for (const std::size_t extent : tensor.extents) {
      head += test::bytes_of(std::uint64_t{extent});
      numbers *= extent;
    }
    head += test::bytes_of(std::uint32_t{0}) + test::bytes_of(std::uint64_t{offset});
    ASSERT_EQ(numbers * sizeof(float) % 32, 0U);
    offset += numbers * sizeof(float);
  }
  head.append((32 - head.size() % 32) % 32, '\0');
  std::ofstream file(to, std::ios::binary);
  file << head;
  const std::map<std::string, std::string> names = {
      {"attn_norm", "input_layernorm"}, {"attn_q", "self_attn.q_proj"},      {"attn_k", "self_attn.k_proj"},
      {"attn_v", "self_attn.v_proj"},   {"attn_output", "self_attn.o_proj"}, {"ffn_norm", "post_attention_layernorm"},
      {"ffn_gate", "mlp.gate_proj"},    {"ffn_up", "mlp.up_proj"},           {"ffn_down", "mlp.down_proj"}};
  for (const internal::GgufTensor& tensor : header.tensors) {
    std::string name = tensor.name == "token_embd.weight" ? "model.embed_tokens.weight" : "model.norm.weight";
    std::string part;
    if (tensor.name.starts_with("blk.")) {
      const std::size_t dot = tensor.name.find('.', 4);
      part = tensor.name.substr(dot + 1, tensor.name.rfind('.') - dot - 1);
      name = "model.layers." + tensor.name.substr(4, dot - 4) + "." + names.at(part) + ".weight";
    }
    const auto stored = weights.entries().at(name).bytes;
    if (part != "attn_q" && part != "attn_k") {
      file.write(reinterpret_cast<const char*>(stored.data()), static_cast<std::streamsize>(stored.size()));
      continue;
    }
    constexpr std::size_t kHead = 64;
    const std::size_t row = tensor.extents[0] * sizeof(float);
    for (std::size_t i = 0; i < tensor.extents[1]; ++i) {
      const std::size_t from = i / kHead * kHead + i % 2 * (kHead / 2) + i % kHead / 2;
      file.write(reinterpret_cast<const char*>(stored.data() + from * row), static_cast<std::streamsize>(row));
    }
  }
  file.close();
  ASSERT_TRUE(file);
}

TEST_F(SmolLM2Backends, WithoutQuantisedProductsLlamaAgreesWithTransformers) {
  constexpr std::size_t kStep = 2;
  const fs::path file = results_->scratch / "float.gguf";
  ASSERT_NO_FATAL_FAILURE(write_float_gguf(std::getenv("ATTNFLOW_SMOLLM2"), results_->folder(), file));
  const std::unique_ptr<Decoder> decoder = ModelFiles::gguf(file).load_decoder({.threads = 1});
  const std::vector<Outcome> runs = run_all(*decoder, results_->prompts, kStep);
  double largest = 0.0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Prompt& prompt = results_->prompts[i * kStep];
    const double error = logit_error(runs[i], prompt);
    EXPECT_LE(error, kLogitTolerance) << prompt.text;
    EXPECT_EQ(runs[i].best(), prompt.top[0]) << prompt.text;
    largest = std::max(largest, error);
  }
  RecordProperty("largest_logit_error", std::to_string(largest));
  for (const std::size_t prompt : kKeptPrompts) {
    ASSERT_EQ(prompt % kStep, 0U);
    EXPECT_LE(attention_error(runs[prompt / kStep], prompt), kAttentionTolerance);
  }
}

TEST_F(SmolLM2Backends, TheConvertedModelHasGradients) {
  const Prompt& prompt = results_->prompts[0];
  const TextInput input{prompt.ids, {}};
  const ScoreTarget target{.kind = ScoreTarget::Kind::kLogit, .label = static_cast<std::size_t>(prompt.top[0])};
  const std::vector<InputGradient> found =
      gradients_of(*results_->torch_decoder).input_gradients(std::span(&input, 1), std::span(&target, 1));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].value, prompt.top_logits[0], kLogitTolerance * prompt.top_logits[0]);
  ASSERT_EQ(found[0].gradient.shape(), (Shape{prompt.ids.size(), 576}));
  for (std::size_t token = 0; token < prompt.ids.size(); ++token) {
    double squares = 0.0;
    for (const float value : found[0].gradient[token].span()) squares += static_cast<double>(value * value);
    EXPECT_TRUE(std::isfinite(squares) && squares > 0.0) << token;
  }
}

}  // namespace
}  // namespace attnflow::smollm2_test
