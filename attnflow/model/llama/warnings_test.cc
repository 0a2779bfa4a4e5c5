// Tests the conversion of libllama's warnings to notes, with its messages and with files that cause them.
#include "attnflow/model/llama/warnings.h"

#include <gtest/gtest.h>

#include "attnflow/model/llama/llama_for_test.h"

namespace attnflow::warnings_test {
namespace {

using test::gguf_entry;
using test::gguf_text;
using test::golden_gguf;
using test::put;
using test::TempFolder;
using Texts = std::vector<std::string>;

Texts texts_of(const std::vector<ModelNote>& notes) {
  Texts texts;
  for (const ModelNote& one : notes) texts.push_back(one.note.text);
  return texts;
}

Texts notes_after(const Texts& messages) {
  LlamaWarnings warnings;
  for (const std::string& message : messages) warnings.add(message);
  return texts_of(warnings.notes(nullptr));
}

TEST(LlamaWarnings, UnknownOnesPassOnceAndCleaned) {
  EXPECT_EQ(notes_after({"build_graph: running DENSE attention (output may be degraded).",
                         "build_graph: running DENSE attention (output may be degraded).", "load: ********"}),
            Texts{"libllama warns: running DENSE attention (output may be degraded)."});
  EXPECT_EQ(notes_after(Texts(1000, "x: y")).size(), 1U);
  Texts many;
  for (std::size_t i = 0; i < 1000; ++i) many.push_back("f: warning " + std::to_string(i));
  EXPECT_EQ(notes_after(many).size(), 16U);
}

TEST(LlamaWarnings, KnownOnesHaveOurWords) {
  EXPECT_EQ(
      notes_after({"load: control-looking token:     7 '</s>' was not control-type; this is probably a bug in the "
                   "model. its type will be overridden",
                   "load: control-looking token:     9 '<|end|>' was not control-type; this is probably a bug in "
                   "the model. its type will be overridden"}),
      Texts{"The file marks these tokens as ordinary text, and libllama takes them for control tokens that end a "
            "text: \"</s>\", \"<|end|>\"."});
  EXPECT_EQ(notes_after({"load: empty token at index 3", "load: empty token at index 4"}),
            Texts{"The vocabulary of the file has 2 tokens without a spelling; libllama gives them names such as "
                  "[EMPTY_7]."});
  EXPECT_EQ(notes_after({"model has unused tensor blk.9.attn_q.weight (size = 40 bytes) -- ignoring"}),
            Texts{"libllama leaves out 1 tensor of the file: blk.9.attn_q.weight."});
  EXPECT_EQ(
      notes_after({"load: bad special token: 'tokenizer.ggml.seperator_token_id' = 999, using default id -1"}),
      Texts{"tokenizer.ggml.seperator_token_id names token 999, which the vocabulary does not have: libllama does "
            "without it."});
  EXPECT_EQ(
      notes_after({"load: bad special token: 'tokenizer.ggml.padding_token_id' = 4294967295, using default id -1"}),
      Texts{});  // some programs write none this way
}

TEST(LlamaWarnings, WhatChangesNothingIsDropped) {
  EXPECT_EQ(
      notes_after({"load: missing pre-tokenizer type, using: 'default'", "load: GENERATION QUALITY WILL BE DEGRADED!",
                   "load: special_eos_id is not in special_eog_ids - the tokenizer config may be incorrect",
                   "llama_context: n_ctx_seq (256) > n_ctx_train (64) -- possible training context overflow",
                   "llama_kv_cache_iswa: using full-size SWA cache (ref: https://x)",
                   "warning: failed to mlock 3-byte buffer (after previously locking 0 bytes): no"}),
      Texts{});
}

TEST(LlamaNotes, FilesThatSayTooLittle) {
  EXPECT_EQ(texts_of(test::load_small("llama")->info().notes), Texts{});
  const auto header = internal::read_gguf(golden_gguf() / "llama.gguf");
  const auto begin = static_cast<std::uint32_t>(header.number("tokenizer.ggml.bos_token_id").value());
  const auto end = static_cast<std::uint32_t>(header.number("tokenizer.ggml.eos_token_id").value());
  const std::string begin_key = "tokenizer.ggml.bos_token_id";
  const std::string end_key = "tokenizer.ggml.eos_token_id";
  const TempFolder folder;
  const auto notes = [&](const std::string& from, const std::string& to) {
    put(folder / "model.gguf", test::edited_llama(from, to));
    return texts_of(ModelFiles::gguf(folder / "model.gguf").load_decoder({.threads = 1})->info().notes);
  };
  EXPECT_EQ(notes(gguf_entry(begin_key, begin), gguf_entry(begin_key, 99999)),
            Texts{"tokenizer.ggml.bos_token_id names token 99999, which the vocabulary does not have: libllama takes "
                  "11, \")\", instead."});
  EXPECT_EQ(notes(gguf_text(begin_key), gguf_text("tokenizer.ggml.bos_token_xx")),
            Texts{"The file does not say which token begins a text (tokenizer.ggml.bos_token_id): libllama takes 11, "
                  "\")\", and puts it before every text."});
  EXPECT_EQ(notes(gguf_text(end_key), gguf_text("tokenizer.ggml.eos_token_xx")),
            Texts{"The file does not say which token ends a text (tokenizer.ggml.eos_token_id): libllama takes 11, "
                  "\")\", and a generation ends where it is chosen."});
  EXPECT_EQ(
      notes(gguf_entry(end_key, end), gguf_entry(end_key, 40)),
      Texts{"The file marks the token that ends a text (tokenizer.ggml.eos_token_id), 40, \"F\", as ordinary text: "
            "a generation ends wherever it is chosen."});
  EXPECT_EQ(
      notes(gguf_text("tokenizer.ggml.pre"), gguf_text("tokenizer.ggml.prx")),
      Texts{"The file does not say how its tokenizer splits a text before it merges pieces (tokenizer.ggml.pre "
            "is missing), so libllama splits by a general rule. Where that is not the model's own, tokens differ, "
            "and with them all numbers."});
}

}  // namespace
}  // namespace attnflow::warnings_test
