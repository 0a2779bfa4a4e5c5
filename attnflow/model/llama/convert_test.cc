// Tests the conversion of small GGUF files: tokenizer, weights, and the remains of an incomplete conversion.
#include <gtest/gtest.h>

#include <stop_token>

#include "attnflow/base/progress.h"
#include "attnflow/files/safetensors.h"
#include "attnflow/model/convert_gguf.h"
#include "attnflow/model/gguf_tokenizer.h"
#include "attnflow/model/llama/llama_for_test.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow::convert_test {
namespace {

using Json = nlohmann::json;
using test::expect_error;
using test::golden_gguf;
using test::ids_of;

TEST(ConvertGguf, TheTokenizerIsThatOfTheFile) {
  const test::TempFolder scratch;
  const ConvertResult result = convert_gguf(golden_gguf() / "llama.gguf", scratch / "made");
  EXPECT_EQ(result.model_type, "llama");
  EXPECT_GT(result.texts_compared, 32U);
  const Tokenizer tokenizer = Tokenizer::load(scratch / "made", "llama");
  const auto decoder = test::load_small("llama");
  const TextCodec& codec = *decoder->codec();
  EXPECT_EQ(tokenizer.id_limit(), codec.id_limit());
  const Json index = test::gguf_index();
  std::size_t texts = 0;
  for (const auto& [name, golden] : index.at("models").at(0).at("texts").items()) {
    EXPECT_EQ(ids_of(tokenizer.encode(golden.at("text").get<std::string>())),
              golden.at("ids").get<std::vector<std::int64_t>>())
        << name;
    ++texts;
  }
  EXPECT_EQ(texts, 9U);
  for (const Json& chat : index.at("chats")) {
    std::vector<ChatMessage> messages;
    for (const Json& message : chat.at("messages")) messages.push_back({message.at("role"), message.at("content")});
    EXPECT_EQ(tokenizer.chat(messages), chat.at("text").get<std::string>());
  }
  for (std::int64_t id = 0; id < static_cast<std::int64_t>(codec.id_limit()); ++id) {
    EXPECT_EQ(tokenizer.is_end(id), codec.is_end(id)) << id;
    EXPECT_EQ(tokenizer.is_special(id), codec.is_special(id)) << id;
  }
}

TEST(ConvertGguf, SaysHowFarItIs) {
  const test::TempFolder scratch;
  ConvertOptions options;
  std::size_t last = 0;
  std::size_t all = 0;
  options.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_GT(done, last);
    last = done;
    all = total;
  };
  const ConvertResult result = convert_gguf(golden_gguf() / "llama.gguf", scratch / "made", options);
  EXPECT_EQ(last, all);
  EXPECT_EQ(all, result.bytes);
  EXPECT_EQ(result.bytes, sizeof(float) * result.parameters);
  EXPECT_EQ(result.parameters, 32832U);
  EXPECT_EQ(result.quantised, 0U);
  const SafetensorsFile weights(scratch / "made" / "model.safetensors");
  EXPECT_EQ(weights.entries().size(), result.tensors);
  EXPECT_EQ(weights.entries().begin()->second.dtype, DType::kF32);
}

TEST(ConvertGguf, NothingIsLeftWhenItIsStopped) {
  const test::TempFolder scratch;
  std::stop_source stop;
  ConvertOptions options;
  options.stop_token = stop.get_token();
  options.progress = [&](std::size_t, std::size_t) { stop.request_stop(); };
  EXPECT_THROW(convert_gguf(golden_gguf() / "llama.gguf", scratch / "made", options), Cancelled);
  EXPECT_TRUE(scratch.names().empty());
  expect_error(ErrorKind::kUsage, {"none"}, [&] { convert_gguf(golden_gguf() / "llama.gguf", ""); });
  EXPECT_TRUE(scratch.names().empty());
}

TEST(ConvertGguf, TokenizersThatDifferAreFound) {
  const test::TempFolder scratch;
  convert_gguf(golden_gguf() / "llama.gguf", scratch / "made");
  const auto decoder = test::load_small("llama");
  EXPECT_GT(internal::check_tokenizer(scratch / "made", "llama", *decoder->codec(), {"<|im_start|>"}), 32U);
  Json tokenizer = Json::parse(test::get(scratch / "made" / "tokenizer.json"));
  tokenizer.at("pre_tokenizer") = tokenizer.at("pre_tokenizer").at("pretokenizers").at(1);
  Json& merges = tokenizer.at("model").at("merges");
  merges.erase(merges.begin() + 3);
  test::put(scratch / "made" / "tokenizer.json", tokenizer.dump());
  expect_error(ErrorKind::kUnsupportedModel, {"llama.gguf", "into the tokens", "original folder"},
               [&] { internal::check_tokenizer(scratch / "made", "llama", *decoder->codec(), {}); });
}

}  // namespace
}  // namespace attnflow::convert_test
