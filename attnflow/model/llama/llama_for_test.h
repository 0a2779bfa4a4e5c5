// Shared by tests of the llama backend: the small models of tests/golden/gguf.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "attnflow/files/array_file.h"
#include "attnflow/files/gguf.h"
#include "attnflow/model/decoder_contract_for_test.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/model_for_test.h"

namespace attnflow::test {

inline std::filesystem::path golden_gguf() { return golden_folder("gguf"); }

inline nlohmann::json gguf_index() { return nlohmann::json::parse(get(golden_gguf() / "index.json")); }

// libllama's GELU for Gemma is a half-precision table, in steps of 5e-4 of a value; transformers' is in float32.
inline DecoderTolerance gguf_tolerance(const std::string& model) {
  return model == "gemma2" ? DecoderTolerance{2e-3, 1e-2} : DecoderTolerance{};
}

// Loads on one thread unless specified otherwise: the models are too small for several.
inline std::unique_ptr<Decoder> load_small(const std::string& name, const LoadOptions& options = {}) {
  LoadOptions few = options;
  if (few.threads == 0) few.threads = 1;
  return ModelFiles::gguf(golden_gguf() / (name + ".gguf")).load_decoder(few);
}

// Returns the small llama's file with `from` replaced by `to`, of the same length, everywhere.
inline std::string edited_llama(const std::string& from, const std::string& to) {
  std::string file = get(golden_gguf() / "llama.gguf");
  EXPECT_EQ(from.size(), to.size());
  EXPECT_NE(file.find(from), std::string::npos) << from;
  for (std::size_t at = file.find(from); at != std::string::npos; at = file.find(from, at + 1))
    file.replace(at, from.size(), to);
  return file;
}

// The bytes of a text, and of an entry of the header with a number.
inline std::string gguf_text(const std::string& value) { return bytes_of(std::uint64_t{value.size()}) + value; }
inline std::string gguf_entry(const std::string& key, std::uint32_t value) {
  return gguf_text(key) + bytes_of(static_cast<std::uint32_t>(internal::GgufType::kU32)) + bytes_of(value);
}

inline Ids golden_ids(const std::string& name) {
  const Tensor<std::int64_t> ids = read_npz(golden_gguf() / (name + ".npz"), "ids").to_int64("ids");
  return {ids.span().begin(), ids.span().end()};
}

inline Tensor<float> golden_array(const std::string& model, const std::string& name) {
  return read_npz(golden_gguf() / (model + ".npz"), name).to_float(name);
}

inline std::vector<std::size_t> golden_positions(const std::string& model, const std::string& name) {
  const Tensor<std::int64_t> positions = read_npz(golden_gguf() / (model + ".npz"), name).to_int64(name);
  return {positions.span().begin(), positions.span().end()};
}

// Expects the golden attention of `queries` and logits of `positions`, from arrays whose names begin with `prefix`.
inline void expect_golden(Decoder& decoder, const std::string& model, const Ids& ids,
                          const std::vector<std::size_t>& queries, const std::vector<std::size_t>& positions,
                          const std::string& prefix = "") {
  const DecoderTolerance tolerance = gguf_tolerance(model);
  KeptRows sink;
  const ModelOutput output = decoder.run({ids, {}}, &sink, {positions});
  ASSERT_EQ(sink.tokens(), ids.size());
  expect_rows(sink, golden_array(model, prefix + "attention"), queries, tolerance.attention);
  expect_within(output.logits, golden_array(model, prefix + "logits"), tolerance.logits);
}

// Expects all of them for the first tokens.
inline void expect_golden(Decoder& decoder, const std::string& model) {
  std::vector<std::size_t> all(golden_array(model, "logits").extent(0));
  std::iota(all.begin(), all.end(), std::size_t{0});
  Ids ids = golden_ids(model);
  ids.resize(all.size());
  expect_golden(decoder, model, ids, all, all);
}

inline Ids ids_of(const Encoding& encoding) {
  Ids ids;
  for (const EncodedToken& token : encoding.tokens) ids.push_back(token.id);
  return ids;
}

}  // namespace attnflow::test
