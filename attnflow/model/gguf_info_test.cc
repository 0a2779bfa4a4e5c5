#include "attnflow/model/gguf_info.h"

#include <gtest/gtest.h>

#include "attnflow/attribution/note.h"
#include "attnflow/model/model_for_test.h"

namespace attnflow::gguf_info_test {
namespace {

using internal::GgufType;
using test::bytes_of;
using test::expect_error;

std::filesystem::path golden(const std::string& name) { return test::golden_folder("gguf") / (name + ".gguf"); }

using Counts = std::vector<std::size_t>;

GgufInfo read_info(const std::filesystem::path& file) { return gguf_info(file, internal::read_gguf(file)); }

TEST(GgufInfo, OfADecoder) {
  const GgufInfo info = read_info(golden("llama"));
  EXPECT_EQ(info.name, "small random llama");
  EXPECT_EQ(info.architecture, "llama");
  EXPECT_EQ(info.layers, 3U);
  EXPECT_EQ(info.heads, Counts{4});
  EXPECT_EQ(info.key_value_heads, Counts{2});
  EXPECT_EQ(info.hidden, 32U);
  EXPECT_EQ(info.vocabulary, 299U);
  EXPECT_EQ(info.context, 512U);
  EXPECT_EQ(info.sliding_window, 0U);
  EXPECT_EQ(info.tokenizer, "gpt2");
  EXPECT_TRUE(info.chat_template);
  EXPECT_TRUE(info.causal);
  EXPECT_EQ(info.bytes, std::filesystem::file_size(golden("llama")));
  ASSERT_EQ(info.storage.size(), 1U);
  EXPECT_EQ(info.storage[0].type, "F32");
  EXPECT_EQ(info.storage[0].numbers, info.parameters);
  // 299 x 32 embeddings and outputs each, the last norm, and in each of 3 layers two norms, queries and outputs (32 x
  // 32), keys and values (32 x 16), and three matrices of 32 x 48.
  const std::size_t layer = 2 * 32 + 2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 48;
  EXPECT_EQ(info.parameters % (299 * 32), (32 + 3 * layer) % (299 * 32));
}

TEST(GgufInfo, OfModelsThatAreNotRunHere) {
  const GgufInfo mamba = read_info(golden("mamba"));
  EXPECT_EQ(mamba.architecture, "mamba");
  EXPECT_EQ(mamba.name, "mamba");  // the file name: the file itself gives none
  EXPECT_EQ(mamba.heads, Counts{0});
  const GgufInfo bert = read_info(golden("bert"));
  EXPECT_FALSE(bert.causal);
  const GgufInfo gemma = read_info(golden("gemma2"));
  EXPECT_EQ(gemma.sliding_window, 20U);
  EXPECT_EQ(gemma.tokenizer, "llama");
  EXPECT_FALSE(gemma.chat_template);
}

std::string text(const std::string& value) { return bytes_of(std::uint64_t{value.size()}) + value; }
std::string type_of(GgufType type) { return bytes_of(static_cast<std::uint32_t>(type)); }
std::string word(const std::string& key, const std::string& value) {
  return text(key) + type_of(GgufType::kText) + text(value);
}
std::string number(const std::string& key, std::int32_t value) {
  return text(key) + type_of(GgufType::kI32) + bytes_of(value);
}
std::string list(const std::string& key, const std::vector<std::int32_t>& values) {
  std::string bytes =
      text(key) + type_of(GgufType::kArray) + type_of(GgufType::kI32) + bytes_of(std::uint64_t{values.size()});
  for (const std::int32_t value : values) bytes += bytes_of(value);
  return bytes;
}
std::string tensor(const std::string& name, std::uint64_t extent, std::uint32_t type, std::uint64_t offset) {
  return text(name) + bytes_of(std::uint32_t{1}) + bytes_of(extent) + bytes_of(type) + bytes_of(offset);
}

class MadeUpGguf : public testing::Test {
 protected:
  GgufInfo read(const std::vector<std::string>& entries, const std::vector<std::string>& tensors = {}) {
    std::string file = "GGUF" + bytes_of(std::uint32_t{3}) + bytes_of(std::uint64_t{tensors.size()}) +
                       bytes_of(std::uint64_t{entries.size()});
    for (const std::string& part : entries) file += part;
    for (const std::string& part : tensors) file += part;
    file.append((32 - file.size() % 32) % 32, '\0');
    file.append(1024, '\0');
    return read_info(test::put(folder_ / "made-up.gguf", file));
  }
  test::TempFolder folder_;
};

TEST_F(MadeUpGguf, HeadsThatDifferByLayer) {
  const std::string architecture = word("general.architecture", "x");
  GgufInfo info = read({architecture, list("x.attention.head_count", {4, 4, 8}),
                        list("x.attention.head_count_kv", {2, 2, 2}), number("x.block_count", 3)});
  EXPECT_EQ(info.heads, (Counts{4, 4, 8}));
  EXPECT_EQ(info.key_value_heads, Counts{2});
  EXPECT_EQ(info.layers, 3U);
  info = read({architecture, number("x.attention.head_count", 4)});
  EXPECT_EQ(info.key_value_heads, Counts{4});
  EXPECT_TRUE(read({architecture}).heads.empty());
}

TEST_F(MadeUpGguf, AMistralWithoutItsWindowIsNoted) {
  const std::string llama = word("general.architecture", "llama");
  const auto notes = [&](std::vector<std::string> entries) {
    entries.insert(entries.begin(), llama);
    return read(entries).notes;
  };
  const std::vector<ModelNote> named = notes({word("general.name", "mistralai_Mistral-7B-Instruct-v0.1")});
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].beyond, 4096U);
  EXPECT_EQ(named[0].note.code, NoteCode::kWindowNotApplied);
  ModelInfo info;
  info.notes = named;
  EXPECT_TRUE(info.notes_for(4096).empty());
  EXPECT_EQ(info.notes_for(4097).size(), 1U);
  EXPECT_EQ(notes({word("general.basename", "Mistral"), word("general.version", "v0.1")}).size(), 1U);
  // Derived models have other names, but only this model has these sizes.
  const std::vector<std::string> sizes = {number("llama.block_count", 32), number("llama.embedding_length", 4096),
                                          number("llama.feed_forward_length", 14336),
                                          number("llama.attention.head_count_kv", 8),
                                          number("llama.context_length", 32768)};
  EXPECT_EQ(notes(sizes).size(), 1U);
  const auto real = [](const std::string& key, float value) {
    return text(key) + type_of(GgufType::kF32) + bytes_of(value);
  };
  std::vector<std::string> later = sizes;
  later.push_back(real("llama.rope.freq_base", 1e6F));
  EXPECT_TRUE(notes(later).empty());
  later.back() = real("llama.rope.freq_base", 1e4F);
  EXPECT_EQ(notes(later).size(), 1U);
  EXPECT_TRUE(notes({word("general.name", "Mistral-7B-v0.3")}).empty());
  EXPECT_TRUE(notes({word("general.name", "Llama 3")}).empty());
  EXPECT_TRUE(notes({word("general.name", "Mistral-7B-v0.1"), number("llama.attention.sliding_window", 4096)}).empty());
}

TEST_F(MadeUpGguf, ATokenizerWithoutItsSplitRuleIsNoted) {
  const auto found = [&](const std::string& kind, std::vector<std::string> entries) {
    entries.push_back(word("general.architecture", "llama"));
    entries.push_back(word("tokenizer.ggml.model", kind));
    std::vector<std::string> texts;
    for (const ModelNote& one : read(entries).notes) {
      EXPECT_EQ(one.note.code, NoteCode::kPreTokenizerUnknown);
      texts.push_back(std::get<std::string>(*one.note.find("found")));
    }
    return texts;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(found("gpt2", {}), Texts{"missing"});
  EXPECT_EQ(found("gpt2", {word("tokenizer.ggml.pre", "default")}), Texts{"\"default\""});
  EXPECT_EQ(found("gpt2", {word("tokenizer.ggml.pre", "smollm")}), Texts{});
  EXPECT_EQ(found("llama", {word("tokenizer.ggml.pre", "default")}), Texts{});  // SentencePiece splits nothing
}

TEST_F(MadeUpGguf, StorageByHowMuchItHolds) {
  const GgufInfo info =
      read({word("general.architecture", "x"), word("general.license", "mit")},
           {tensor("norm", 32, 0, 0), tensor("a", 256, 3, 128), tensor("b", 128, 3, 288), tensor("c", 16, 99, 384)});
  EXPECT_EQ(info.parameters, 432U);
  EXPECT_EQ(info.licence, "mit");
  EXPECT_EQ(storage_text(info),
            "Q4_1 (2 tensors, 88.9% of the numbers), F32 (1 tensor, 7.4% of the numbers), type 99 (1 tensor, 3.7% of "
            "the numbers)");
  EXPECT_EQ(storage_text(read({word("general.architecture", "x")})), "");
}

TEST_F(MadeUpGguf, RefusesWhatIsNoModel) {
  expect_error(ErrorKind::kBadFile, {"made-up.gguf", "general.architecture"}, [&] { read({}); });
  expect_error(ErrorKind::kBadFile, {"made-up.gguf", "x", "block_count", "-3"}, [&] {
    read({word("general.architecture", "x"), number("x.block_count", -3)});
  });
  expect_error(ErrorKind::kBadFile, {"block_count", "one number"}, [&] {
    read({word("general.architecture", "x"), list("x.block_count", {1, 2})});
  });
  expect_error(ErrorKind::kBadFile, {"no.gguf"}, [&] { read_info(folder_ / "no.gguf"); });
}

}  // namespace
}  // namespace attnflow::gguf_info_test
