// Tests files and models that the llama backend must reject, each with a reason and none with a crash.
#include <ggml.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "attnflow/base/random.h"
#include "attnflow/model/llama/library.h"
#include "attnflow/model/llama/llama_for_test.h"

namespace attnflow::refused_test {
namespace {

using test::edited_llama;
using test::expect_error;
using test::get;
using test::golden_gguf;
using test::put;
using test::TempFolder;

void expect_refused(const std::string& bytes, ErrorKind kind, std::vector<std::string> words) {
  const TempFolder folder;
  put(folder / "model.gguf", bytes);
  words.push_back("model.gguf");
  expect_error(kind, words, [&] { ModelFiles::gguf(folder / "model.gguf").load_decoder(); });
}

TEST(Refused, ModelsWithoutAttentionOverTokens) {
  const auto load = [](const std::string& name) { return [name] { test::load_small(name); }; };
  expect_error(ErrorKind::kUnsupportedModel, {"mamba.gguf", "recurrent"}, load("mamba"));
  expect_error(ErrorKind::kUnsupportedModel, {"bert.gguf", "bidirectional attention", "bert"}, load("bert"));
}

TEST(Refused, OtherFiles) {
  expect_error(ErrorKind::kBadFile, {"no such.gguf"}, [] { ModelFiles::gguf("no such.gguf").load_decoder(); });
  expect_error(ErrorKind::kBadFile, {"folder"}, [] { ModelFiles::gguf(golden_gguf()).load_decoder(); });
  expect_refused("", ErrorKind::kBadFile, {"GGUF"});
  expect_refused("not a model", ErrorKind::kBadFile, {"GGUF", "\"not \""});
}

TEST(Refused, TruncatedFiles) {
  const std::string file = get(golden_gguf() / "llama.gguf");
  for (const std::size_t size :
       {file.size() - 1, file.size() / 2, std::size_t{9000}, std::size_t{100}, std::size_t{8}}) {
    SCOPED_TRACE(size);
    expect_refused(file.substr(0, size), ErrorKind::kBadFile, {"truncated"});
  }
}

TEST(Refused, AnArchitectureThatTheLibraryDoesNotKnow) {
  expect_refused(edited_llama("llama", "lhama"), ErrorKind::kUnsupportedModel, {"architecture", "lhama"});
}

TEST(Refused, WithoutAnArchitectureOrATokenizer) {
  expect_refused(edited_llama("general.architecture", "general.architectura"), ErrorKind::kBadFile,
                 {"general.architecture"});
  expect_refused(edited_llama("tokenizer.ggml.model", "tokenizer.ggml.modul"), ErrorKind::kUnsupportedModel,
                 {"tokenizer"});
}

TEST(Refused, MissingTensorsAndSettings) {
  expect_refused(edited_llama("blk.1.attn_k.weight", "blk.9.attn_k.weight"), ErrorKind::kBadFile,
                 {"libllama", "blk.1.attn_k.weight"});
  expect_refused(edited_llama("llama.block_count", "llama.block_cuunt"), ErrorKind::kBadFile,
                 {"libllama", "block_count"});
  expect_refused(edited_llama("tokenizer.ggml.merges", "tokenizer.ggml.murges"), ErrorKind::kBadFile,
                 {"libllama", "merges"});
}

// The small model as the first of two files. The two entries for this take 64 bytes, so data stay aligned.
std::string first_of_two() {
  const std::string entries = test::gguf_entry("split.count", 2) + test::gguf_text("x") +
                              test::bytes_of(static_cast<std::uint32_t>(internal::GgufType::kText)) +
                              test::gguf_text(std::string(16, 'x'));
  EXPECT_EQ(entries.size(), 64U);
  std::string file = get(golden_gguf() / "llama.gguf");
  constexpr std::size_t kCountAt = 16;
  constexpr std::size_t kEntriesAt = 24;
  std::uint64_t count = 0;
  std::memcpy(&count, file.data() + kCountAt, sizeof(count));
  count += 2;
  std::memcpy(file.data() + kCountAt, &count, sizeof(count));
  return file.insert(kEntriesAt, entries);
}

TEST(Refused, APartOfASplitModel) {
  expect_refused(first_of_two(), ErrorKind::kBadFile, {"-00001-of-00002.gguf", "give that one"});
  const TempFolder folder;
  put(folder / "model-00001-of-00002.gguf", first_of_two());
  const auto load = [&] { ModelFiles::gguf(folder / "model-00001-of-00002.gguf").load_decoder(); };
  expect_error(ErrorKind::kBadFile, {"model-00002-of-00002.gguf", "found none that can be opened"}, load);
  put(folder / "model-00002-of-00002.gguf", "no model");
  expect_error(ErrorKind::kBadFile, {"model-00002-of-00002.gguf", "begin with \"GGUF\""}, load);
}

// Changes header bytes at random: libllama must produce one of our errors, or a model that runs.
TEST(Refused, HostileHeadersDoNotEndTheProgram) {
  const std::string file = get(golden_gguf() / "llama.gguf");
  const std::size_t header = internal::parse_gguf(std::as_bytes(std::span(file)), "small").data_begin;
  const char* const count_text = std::getenv("ATTNFLOW_HOSTILE_FILES");
  const std::size_t count = count_text == nullptr ? 150 : std::strtoull(count_text, nullptr, 10);
  const char* const seed_text = std::getenv("ATTNFLOW_SEED");
  const std::uint64_t seed = seed_text == nullptr ? 1 : std::strtoull(seed_text, nullptr, 10);
  std::size_t refused = 0;
  std::size_t ran = 0;
  const TempFolder folder;
  for (std::size_t i = 0; i < count; ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", file " + std::to_string(i));
    Random random(seed * 1000003 + i);
    std::string damaged = file;
    const std::size_t changes = 1 + random.below(3);
    for (std::size_t c = 0; c < changes; ++c) {
      constexpr std::array<unsigned char, 6> kBytes = {0x00, 0x01, 0x7F, 0x80, 0xFF, 0x0A};
      // A third in the settings at the beginning, which are few compared with the vocabulary's pieces.
      const std::size_t at = random.below(3) == 0 ? random.below(1000) : random.below(header);
      const std::size_t kind = random.below(3);
      if (kind == 0) damaged[at] = static_cast<char>(kBytes[random.below(kBytes.size())]);
      if (kind == 1) damaged[at] = static_cast<char>(random.below(256));
      if (kind == 2) damaged[at] = static_cast<char>(damaged[at] ^ static_cast<char>(1U << random.below(8)));
    }
    put(folder / "model.gguf", damaged);
    try {
      const auto decoder = ModelFiles::gguf(folder / "model.gguf").load_decoder({.threads = 1});
      const test::Ids ids = test::ids_of(decoder->codec()->encode("The key to the cabinets"));
      if (!ids.empty() && ids.size() <= decoder->info().max_tokens) decoder->append(ids, nullptr);
      ++ran;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_EQ(refused + ran, count);
  EXPECT_GE(refused, count / 20);
  EXPECT_GE(ran, count / 20);
}

TEST(LlamaLibrary, AssertionsBecomeErrors) {
  start_llama_library();
  ggml_init_params params{};
  params.mem_size = 1 << 20;
  params.no_alloc = true;
  const GgmlContextHandle context(ggml_init(params));
  // Omits the location in the library's sources, a path on the build machine.
  expect_error(ErrorKind::kBadFile, {"some.gguf", "consistent", "libllama finds it is not (GGML_ASSERT("}, [&] {
    with_llama_assertions("some.gguf", [&] {
      ggml_mul_mat(context.get(), ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 3, 4),
                   ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 5, 6));
    });
  });
}

TEST(LlamaLibrary, KnowsTheSameTypes) {
  std::size_t known = 0;
  for (std::uint32_t number = 0; number < GGML_TYPE_COUNT; ++number) {
    const auto type = static_cast<ggml_type>(number);
    const auto block = internal::gguf_block(number);
    if (ggml_blck_size(type) == 0) {
      EXPECT_FALSE(block.has_value()) << number;
      continue;
    }
    if (!block) continue;  // newer than the table: the library checks its size
    EXPECT_EQ(block->elements, static_cast<std::size_t>(ggml_blck_size(type))) << ggml_type_name(type);
    EXPECT_EQ(block->bytes, ggml_type_size(type)) << ggml_type_name(type);
    ++known;
  }
  EXPECT_GE(known, 30U);
}

}  // namespace
}  // namespace attnflow::refused_test
