// A decoder with known attention, and a tokenizer of bytes, for tests of generation without a model.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/model/decoder.h"

namespace attnflow {

// One token a byte; 256 ends a text, 257 begins one and is added in front. Words end at spaces.
class ByteCodec : public TextCodec {
 public:
  static constexpr std::int64_t kEnd = 256;
  static constexpr std::int64_t kBegin = 257;

  Encoding encode(std::string_view text, const std::optional<std::string>& = std::nullopt,
                  const EncodeOptions& = {}) const override {
    Encoding encoding;
    EncodedToken begin;
    begin.id = kBegin;
    begin.text = "<begin>";
    begin.special = true;
    encoding.tokens.push_back(begin);
    std::size_t word = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == ' ') ++word;
      EncodedToken token;
      token.id = static_cast<unsigned char>(text[i]);
      token.text = std::string(1, text[i]);
      token.begin = i;
      token.end = i + 1;
      token.word = word;
      encoding.tokens.push_back(token);
    }
    return encoding;
  }
  std::size_t id_limit() const override { return 258; }
  std::vector<std::int64_t> word_to_ids(std::string_view word) const override { return {word.begin(), word.end()}; }
  std::optional<std::int64_t> mask_id() const override { return std::nullopt; }
  std::string spelled(std::int64_t id) const override { return readable(id); }
  std::string readable(std::int64_t id) const override {
    return id >= kEnd ? (id == kEnd ? "<end>" : "<begin>") : bytes(id);
  }
  std::string bytes(std::int64_t id) const override {
    return id >= kEnd ? std::string() : std::string(1, static_cast<char>(id));
  }
  bool is_special(std::int64_t id) const override { return id >= kEnd; }
  bool is_end(std::int64_t id) const override { return id == kEnd; }
  std::string chat(const std::vector<ChatMessage>& messages) const override {
    std::string text;
    for (const ChatMessage& message : messages) text += message.role + ": " + message.text + "\n";
    return text;
  }
  std::string source() const override { return "bytes"; }
};

// Says `answer` whatever the prompt, then the end; its attention is that of a random causal stack.
class ScriptedDecoder : public Decoder {
 public:
  ScriptedDecoder(std::string answer, std::size_t prompt, std::size_t chunk = 1000)
      : stack_(random_stack(
            {.layers = 4, .heads = 3, .tokens = prompt + answer.size() + 8, .causal = true, .sink = true, .seed = 77})),
        answer_(std::move(answer)),
        prompt_(prompt),
        chunk_(chunk) {
    info_.name = "scripted";
    info_.architecture = "test";
    info_.layers = stack_.layers();
    info_.heads = stack_.heads();
    info_.vocabulary = 258;
    info_.max_tokens = stack_.tokens();
    info_.causal = true;
    info_.head = ModelHead::kCausalLm;
  }

  const ModelInfo& info() const override { return info_; }
  ModelInfo& changeable_info() { return info_; }
  const AttentionStack& stack() const { return stack_; }
  std::size_t length() const override { return length_; }
  void clear() override { length_ = 0; }
  void rewind(std::size_t length) override { length_ = length; }
  void reserve(std::size_t tokens) override { reserved = tokens; }

  Tensor<float> append(std::span<const std::int64_t> ids, AttentionSink* sink, const std::stop_token& stop) override {
    if (stop.stop_requested()) throw Cancelled();
    const std::size_t end = length_ + ids.size();
    if (end > info_.max_tokens) throw Error(ErrorKind::kInputTooLong, "too long");
    while (length_ < end) {
      const std::size_t next = std::min(end, length_ + chunk_);
      for (std::size_t l = 1; l <= stack_.layers() && sink != nullptr; ++l) {
        Tensor<float> rows({stack_.heads(), next - length_, next});
        for (std::size_t h = 0; h < stack_.heads(); ++h) {
          for (std::size_t q = length_; q < next; ++q) {
            for (std::size_t k = 0; k < next; ++k) rows(h, q - length_, k) = stack_.weights()(l - 1, h, q, k);
          }
        }
        sink->layer(l, length_, rows.view());
      }
      length_ = next;
    }
    Tensor<float> logits({info_.vocabulary});
    const std::size_t said = length_ - prompt_;
    const std::size_t id =
        said < answer_.size() ? static_cast<unsigned char>(answer_[said]) : static_cast<std::size_t>(ByteCodec::kEnd);
    logits(id) = 5.0F;
    if (on_append) on_append(length_);
    return logits;
  }

  ModelOutput run(const TextInput&, AttentionSink*, const RunOptions&) override { throw unused(); }
  std::unique_ptr<AttentionReplay> run_for_replay(std::span<const std::int64_t>, Tensor<float>*, const std::stop_token&,
                                                  const ProgressFunction&) override {
    throw unused();
  }

  std::function<void(std::size_t)> on_append;
  std::size_t reserved = 0;

 private:
  static Error unused() { return {ErrorKind::kUnsupportedModel, "not part of this test"}; }

  AttentionStack stack_;
  std::string answer_;
  std::size_t prompt_;
  std::size_t chunk_;
  std::size_t length_ = 0;
  ModelInfo info_;
};

}  // namespace attnflow
