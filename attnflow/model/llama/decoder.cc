#include "attnflow/model/llama/decoder.h"

#include <algorithm>
#include <utility>

#include "attnflow/base/available_memory.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/llama/library.h"
#include "attnflow/model/llama/replay.h"
#include "attnflow/model/model_input.h"

namespace attnflow {
namespace {

constexpr std::size_t kFirstPositions = 512;

std::size_t first_positions(const LlamaWeights& weights, const LoadOptions& options) {
  const std::size_t asked = options.context == 0 ? kFirstPositions : options.context;
  return std::min(asked, weights.info.max_tokens);
}

// Discards attention: AttentionCapture checks it.
class NoSink : public AttentionSink {
 public:
  void layer(std::size_t /*layer*/, std::size_t /*query_begin*/, TensorView<const float> /*attention*/) override {}
};

}  // namespace

LlamaDecoder::LlamaDecoder(LlamaWeights weights, const LoadOptions& options)
    : weights_(std::move(weights)),
      codec_(weights_),
      capture_(weights_.source, weights_.matrices),
      session_(weights_, capture_, options.threads, first_positions(weights_, options)) {
  try_out();
}

LlamaDecoder::~LlamaDecoder() { ++*uses_; }

void LlamaDecoder::try_out() {
  if (!session_.is_causal()) {
    internal::fail(ErrorKind::kUnsupportedModel,
                   "{}: expected a language model that predicts the next token from those before it, found "
                   "one with bidirectional attention ({})",
                   weights_.source, weights_.info.architecture);
  }
  const std::vector<std::int64_t> ids(std::min<std::size_t>(2, weights_.info.max_tokens), 0);
  NoSink sink;
  capture_.try_terms(true);
  append(ids, &sink);
  capture_.try_terms(false);
  weights_.info.heads = capture_.heads();
  clear();
  // Warnings from loading, from creating the context, and from the first run.
  const llama_vocab* const vocabulary = llama_model_get_vocab(weights_.model.get());
  for (ModelNote& note : take_llama_warnings().notes(vocabulary)) weights_.info.notes.push_back(std::move(note));
}

void LlamaDecoder::clear() {
  ++*uses_;
  session_.clear();
}

void LlamaDecoder::rewind(std::size_t length) {
  check_rewind(session_.length(), length);
  ++*uses_;
  session_.rewind(length);
}

void LlamaDecoder::reserve(std::size_t tokens) {
  ++*uses_;  // a replay's keys may move
  session_.reserve(std::min(tokens, weights_.info.max_tokens), {});
}

std::vector<float> LlamaDecoder::append_wanted(std::span<const std::int64_t> ids, std::span<const std::int8_t> wanted,
                                               AttentionSink* sink, ScoreRecorder* recorder,
                                               const std::stop_token& stop_token, const ProgressFunction& progress) {
  if (sink != nullptr && sink->wants_terms()) capture_.check_terms();
  ++*uses_;
  session_.reserve(session_.length() + ids.size(), stop_token);
  const std::vector<llama_token> tokens(ids.begin(), ids.end());
  return session_.append(tokens, wanted, sink, recorder, stop_token, progress);
}

Tensor<float> LlamaDecoder::append(std::span<const std::int64_t> ids, AttentionSink* sink,
                                   const std::stop_token& stop_token) {
  check_ids(info(), length(), ids);
  std::vector<std::int8_t> wanted(ids.size(), 0);
  wanted.back() = 1;
  return {Shape{info().vocabulary}, append_wanted(ids, wanted, sink, nullptr, stop_token)};
}

ModelOutput LlamaDecoder::run(const TextInput& input, AttentionSink* sink, const RunOptions& options) {
  check_text_input(info(), input, options);
  clear();
  std::vector<std::int8_t> wanted(input.ids.size(), 0);
  for (const std::size_t position : options.logit_positions) wanted[position] = 1;
  const std::vector<float> rows = append_wanted(input.ids, wanted, sink, nullptr, {}, options.progress);

  // The library returns each position once and in order; callers may request them in any order.
  const auto width = static_cast<std::ptrdiff_t>(info().vocabulary);
  std::vector<float> logits;
  for (const std::size_t position : options.logit_positions) {
    const auto row =
        rows.begin() + std::count(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(position), 1) * width;
    logits.insert(logits.end(), row, row + width);
  }
  return {{Shape{options.logit_positions.size(), info().vocabulary}, std::move(logits)}};
}

std::unique_ptr<AttentionReplay> LlamaDecoder::run_for_replay(std::span<const std::int64_t> ids, Tensor<float>* logits,
                                                              const std::stop_token& stop_token,
                                                              const ProgressFunction& progress) {
  check_ids(info(), 0, ids);
  clear();
  ScoreRecorder recorder(weights_.source, info().layers);
  std::vector<std::int8_t> wanted(ids.size(), 0);
  wanted.back() = 1;
  std::vector<float> row = append_wanted(ids, wanted, nullptr, &recorder, stop_token, progress);
  if (logits != nullptr) *logits = Tensor<float>(Shape{info().vocabulary}, std::move(row));
  return std::make_unique<LlamaReplay>(recorder.take(), session_.thread_count(), session_.threads(), uses_);
}

}  // namespace attnflow
