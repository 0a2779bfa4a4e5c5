#include "attnflow/model/llama/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "attnflow/base/available_memory.h"
#include "attnflow/base/idle_processors.h"
#include "attnflow/base/progress.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/llama/library.h"

namespace attnflow {
namespace {

constexpr llama_seq_id kSequence = 0;
constexpr std::size_t kMaxThreads = GGML_MAX_N_THREADS;
constexpr std::chrono::milliseconds kBetweenChoices{
    250};                    // between choices of the number of threads: a hundred times what one takes
constexpr int kAborted = 2;  // return value of llama_decode()

std::string size_text(double bytes) {
  constexpr double kMiB = 1024.0 * 1024.0;
  return bytes < 1024.0 * kMiB ? fmt::format("{:.0f} MiB", bytes / kMiB)
                               : fmt::format("{:.1f} GiB", bytes / (1024.0 * kMiB));
}

// The cache of keys and values; a chunk's scores and weights; its logits, twice; a layer's activations (small).
double context_bytes(const LlamaWeights& weights, std::size_t positions) {
  const ModelInfo& info = weights.info;
  const auto number = [](std::size_t count) { return static_cast<double>(count); };
  const double cache = number(positions) * number(weights.cache_row);
  const double attention = 3.0 * number(info.heads) * number(std::min(kLlamaChunk, positions)) * number(positions);
  const double logits = 2.0 * number(kLlamaChunk) * number(info.vocabulary);
  return sizeof(float) * (cache + attention + logits);
}

bool must_stop(void* stop_token) { return static_cast<const std::stop_token*>(stop_token)->stop_requested(); }

}  // namespace

LlamaSession::LlamaSession(const LlamaWeights& weights, AttentionCapture& capture, std::size_t threads,
                           std::size_t positions)
    : weights_(weights), capture_(capture), has_window_(llama_model_n_swa(weights.model.get()) != 0) {
  const std::size_t usable = std::min(usable_processors(), kMaxThreads);
  max_threads_ = static_cast<int>(threads != 0 ? std::min(threads, usable) : usable);
  if (max_threads_ > 1) {
    // Without its own pool, the library starts new threads for every run of nodes, many times per token.
    ggml_threadpool_params params = ggml_threadpool_params_default(max_threads_);
    // They sleep between runs, at no measurable cost: choose_threads() would take busy-waiting for other programs'
    // work.
    params.poll = 0;
    threads_.reset(ggml_threadpool_new(&params));
    if (!threads_) {
      internal::fail(ErrorKind::kOther, "{}: the system cannot start {} threads; request fewer", weights_.source,
                     max_threads_);
    }
  }
  choose_threads();
  open(positions);
}

void LlamaSession::choose_threads() {
  if (max_threads_ == 1) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - chosen_at_ < kBetweenChoices) return;
  thread_count_ = std::min(max_threads_, static_cast<int>(idle_processors()));
  if (context_) llama_set_n_threads(context_.get(), thread_count_, thread_count_);
  chosen_at_ = std::chrono::steady_clock::now();
}

void LlamaSession::refuse(std::size_t positions, const std::string& found) const {
  internal::fail(ErrorKind::kOther,
                 "{}: {} positions need about {} of memory in addition to the model's weights, {}; give a "
                 "shorter text, or use a smaller model",
                 weights_.source, positions, size_text(context_bytes(weights_, positions)), found);
}

void LlamaSession::open(std::size_t positions) {
  assert(positions > 0 && !context_);
  const auto available = available_memory();
  if (available && context_bytes(weights_, positions) > static_cast<double>(*available))
    refuse(positions, fmt::format("but only {} are free", size_text(static_cast<double>(*available))));

  llama_context_params params = llama_context_default_params();
  // At least one chunk, or the library would shorten the chunks.
  const std::size_t room = std::clamp<std::size_t>(positions, kLlamaChunk, std::numeric_limits<std::int32_t>::max());
  params.n_ctx = static_cast<std::uint32_t>(room);
  params.n_batch = kLlamaChunk;
  params.n_ubatch = kLlamaChunk;
  params.n_seq_max = 1;
  params.n_threads = thread_count_;
  params.n_threads_batch = thread_count_;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  // Keeps keys and values as computed: rounding them to 16 bits would be the largest error not due to the weights.
  params.type_k = GGML_TYPE_F32;
  params.type_v = GGML_TYPE_F32;
  // Layers with a sliding window also keep and mask all positions, each in its own cell.
  params.swa_full = true;
  params.embeddings = false;
  params.pooling_type = LLAMA_POOLING_TYPE_NONE;
  params.offload_kqv = false;
  params.op_offload = false;
  params.no_perf = true;
  params.cb_eval = AttentionCapture::callback;
  params.cb_eval_user_data = &capture_;
  take_llama_error();
  with_llama_assertions(weights_.source, [&] { context_.reset(llama_init_from_model(weights_.model.get(), params)); });
  if (!context_) {
    const std::string reason = take_llama_error();
    refuse(positions, fmt::format("which libllama cannot set up ({})", reason.empty() ? "it gives no reason" : reason));
  }
  if (threads_) llama_attach_threadpool(context_.get(), threads_.get(), nullptr);
  positions_ = llama_n_ctx(context_.get());
}

void LlamaSession::clear() {
  if (length_ != 0 && context_) llama_memory_clear(llama_get_memory(context_.get()), false);
  length_ = 0;
  ids_.clear();
  chunks_.clear();
}

void LlamaSession::rewind(std::size_t length) {
  if (length == length_) return;
  if (length == 0) return clear();
  const auto first = static_cast<llama_pos>(length);
  if (!llama_memory_seq_rm(llama_get_memory(context_.get()), kSequence, first, -1)) {
    internal::fail(ErrorKind::kOther, "{}: libllama could not take back the tokens after the first {}", weights_.source,
                   length);
  }
  length_ = length;
  if (!has_window_) return;
  ids_.resize(length);
  std::size_t kept = 0;
  std::erase_if(chunks_, [&](std::size_t& count) {
    count = std::min(count, length - kept);
    kept += count;
    return count == 0;
  });
}

void LlamaSession::reserve(std::size_t positions, const std::stop_token& stop_token) {
  if (positions <= positions_ && context_) return;
  if (length_ == 0 || !has_window_) return move_to_more_room(positions);
  const std::vector<llama_token> ids = std::move(ids_);
  const std::vector<std::size_t> chunks = std::move(chunks_);
  clear();
  move_to_more_room(positions);
  std::size_t begin = 0;
  for (const std::size_t count : chunks) {
    append(std::span(ids).subspan(begin, count), std::vector<std::int8_t>(count, 0), nullptr, nullptr, stop_token);
    begin += count;
  }
}

void LlamaSession::move_to_more_room(std::size_t positions) {
  const std::size_t length = length_;
  std::vector<std::uint8_t> state;
  if (length != 0) {
    state.resize(llama_state_seq_get_size(context_.get(), kSequence));
    state.resize(llama_state_seq_get_data(context_.get(), state.data(), state.size(), kSequence));
  }
  const std::size_t doubled = std::min(2 * positions_, weights_.info.max_tokens);
  context_.reset();  // never two at once
  positions_ = 0;
  length_ = 0;
  // Leaves room for the next few times, unless that is too much.
  const auto available = available_memory();
  const bool fits = !available || 2.0 * context_bytes(weights_, doubled) < static_cast<double>(*available);
  open(fits ? std::max(positions, doubled) : positions);
  if (length == 0) return;
  if (llama_state_seq_set_data(context_.get(), state.data(), state.size(), kSequence) == 0) {
    internal::fail(ErrorKind::kOther,
                   "{}: libllama could not move a sequence of {} tokens to a larger context ({}); give the "
                   "number of positions beforehand",
                   weights_.source, length, take_llama_error());
  }
  length_ = length;
}

std::vector<float> LlamaSession::append(std::span<const llama_token> ids, std::span<const std::int8_t> wanted,
                                        AttentionSink* sink, ScoreRecorder* recorder, const std::stop_token& stop_token,
                                        const ProgressFunction& progress) {
  assert(ids.size() == wanted.size() && length_ + ids.size() <= positions_);
  std::vector<float> logits;
  try {
    for (std::size_t begin = 0; begin < ids.size(); begin += kLlamaChunk) {
      const std::size_t count = std::min(kLlamaChunk, ids.size() - begin);
      run_chunk(ids.subspan(begin, count), wanted.subspan(begin, count), sink, recorder, stop_token, logits);
      if (progress) progress(begin + count, ids.size());
    }
  } catch (...) {
    length_ = std::max<std::size_t>(length_, 1);  // the library may have kept part of the chunk that failed
    clear();
    throw;
  }
  return logits;
}

void LlamaSession::run_chunk(std::span<const llama_token> ids, std::span<const std::int8_t> wanted, AttentionSink* sink,
                             ScoreRecorder* recorder, const std::stop_token& stop_token, std::vector<float>& logits) {
  if (stop_token.stop_requested()) throw Cancelled();
  choose_threads();
  std::vector<llama_token> tokens(ids.begin(), ids.end());
  std::vector<std::int8_t> flags(wanted.begin(), wanted.end());
  llama_batch batch{};
  batch.n_tokens = static_cast<std::int32_t>(tokens.size());
  batch.token = tokens.data();
  batch.logits = flags.data();

  const std::stop_token stop = stop_token;
  // Reset first: a failed assertion in the library skips the line below that resets it.
  llama_set_abort_callback(context_.get(), nullptr, nullptr);
  if (stop.stop_possible()) {
    llama_set_abort_callback(context_.get(), must_stop, const_cast<std::stop_token*>(&stop));
  }
  capture_.use_threads(thread_count_, threads_.get());
  capture_.begin(sink, recorder, length_, ids.size());
  take_llama_error();
  std::int32_t status = 0;
  with_llama_assertions(weights_.source, [&] { status = llama_decode(context_.get(), batch); });
  if (stop.stop_possible()) llama_set_abort_callback(context_.get(), nullptr, nullptr);
  if (status == kAborted) throw Cancelled();
  if (status != 0) {
    const std::string reason = take_llama_error();
    internal::fail(ErrorKind::kOther, "{}: libllama could not compute positions {} to {} (status {}, {})",
                   weights_.source, length_, length_ + ids.size() - 1, status,
                   reason.empty() ? "it gives no reason" : reason);
  }
  capture_.end(weights_.info.layers);
  length_ += ids.size();
  if (has_window_) {
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    chunks_.push_back(ids.size());
  }

  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] == 0) continue;
    const float* const row = llama_get_logits_ith(context_.get(), static_cast<std::int32_t>(i));
    if (row == nullptr) {
      internal::fail(ErrorKind::kUnsupportedModel,
                     "{}: expected a model that predicts tokens, found one without logits", weights_.source);
    }
    logits.insert(logits.end(), row, row + weights_.info.vocabulary);
  }
}

}  // namespace attnflow
