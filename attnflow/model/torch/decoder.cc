#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "attnflow/base/available_memory.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/model_input.h"
#include "attnflow/model/torch/autograd_ops.h"
#include "attnflow/model/torch/branches.h"
#include "attnflow/model/torch/decoder_attention.h"
#include "attnflow/model/torch/layered_gradients.h"
#include "attnflow/model/torch/make_models.h"
#include "attnflow/model/torch/model_tensors.h"
#include "attnflow/model/torch/sink_ops.h"

namespace attnflow {

namespace {

using internal::AttentionTask;
using internal::to_host;
using internal::to_signed;

constexpr std::size_t kMaxQueries = 256;
constexpr std::size_t kFewestQueries = 16;
constexpr std::size_t kAttentionBytes = std::size_t{32} << 20;  // for a chunk, in one layer

struct Chunk {
  std::size_t begin = 0;  // position of its first query
  std::size_t count = 0;
};

// Cuts `tokens` tokens after `past` others into chunks of as many queries as fit with their attention to all keys.
std::vector<Chunk> cut_into_chunks(std::size_t heads, std::size_t past, std::size_t tokens) {
  std::vector<Chunk> chunks;
  for (std::size_t begin = past; begin < past + tokens; begin += chunks.back().count) {
    std::size_t count = std::min(past + tokens - begin, kMaxQueries);
    const auto bytes = [&] { return heads * count * (begin + count) * sizeof(float); };
    while (count > kFewestQueries && bytes() > kAttentionBytes) --count;
    chunks.push_back({begin, count});
  }
  return chunks;
}

// Memory reused for successive attention tensors, whose varying sizes would fragment the heap.
class AttentionBuffer {
 public:
  explicit AttentionBuffer(at::Device device) : options_(at::TensorOptions(at::kFloat).device(device)) {}

  // Discards the previous contents.
  void reserve(std::size_t numbers) {
    if (buffer_.defined() && to_signed(numbers) <= buffer_.numel()) return;
    buffer_.reset();
    buffer_ = at::empty({to_signed(numbers)}, options_);
  }
  // There must be room.
  at::Tensor view(std::size_t heads, std::size_t queries, std::size_t keys) const {
    return buffer_.narrow(0, 0, to_signed(heads * queries * keys))
        .view({to_signed(heads), to_signed(queries), to_signed(keys)});
  }

 private:
  at::TensorOptions options_;
  at::Tensor buffer_;
};

// Shared with replays, so that one that outlives its sequence can report that.
struct Sequence {
  Sequence(const ModelConfig& config, at::Device device) : cache(config, device) {}

  internal::KeyValueCache cache;
  std::size_t length = 0;  // tokens
  std::size_t uses = 0;    // increases whenever the tokens change
};

// Runs a chunk through the layers: each stores its keys and values in the cache and attends to all stored ones.
class ChunkOps : public internal::SinkOps {
 public:
  ChunkOps(internal::KeyValueCache& cache, std::size_t begin, at::Device device, std::size_t threads,
           AttentionSink* sink)
      : SinkOps(device, threads, internal::OneRow::kVector, sink, begin), cache_(cache), begin_(begin) {}

  at::Tensor attention;  // [H, count, begin + count], where a layer's attention is written if there is a sink
  std::vector<at::Tensor> queries;  // [layers]: where to keep the chunk's queries, [count, H d] each; or empty

  at::Tensor attend(const internal::LayerForm& form, std::size_t index, const at::Tensor& query, const at::Tensor& key,
                    const at::Tensor& value) {
    cache_.write(index, begin_, key[0], value[0]);
    AttentionTask task(form);
    task.queries = query.view({query.size(1), -1});
    task.begin = to_signed(begin_);
    task.keys = cache_.keys(index);
    task.values = cache_.values(index);
    task.attention = attention;
    task.context = at::empty_like(task.queries);
    if (!queries.empty()) queries[index].copy_(task.queries);
    internal::attend(task, threads());
    deliver(index, attention, value);
    return task.context.unsqueeze(0);
  }

 private:
  internal::KeyValueCache& cache_;
  std::size_t begin_;
};

class TorchReplay final : public AttentionReplay {
 public:
  TorchReplay(std::vector<internal::LayerForm> forms, std::shared_ptr<const Sequence> sequence,
              std::vector<at::Tensor> queries, std::size_t threads)
      : forms_(std::move(forms)),
        sequence_(std::move(sequence)),
        use_(sequence_->uses),
        tokens_(sequence_->length),
        queries_(std::move(queries)),
        threads_(threads),
        buffer_(queries_.front().device()) {}

  std::size_t layers() const override { return forms_.size(); }
  std::size_t heads() const override { return static_cast<std::size_t>(forms_.front().heads); }
  std::size_t tokens() const override { return tokens_; }

  void rows(std::size_t layer, std::size_t query_begin, std::size_t query_end, AttentionSink& sink) override {
    if (layer < 1 || layer > layers() || query_begin >= query_end || query_end > tokens_) {
      internal::fail(ErrorKind::kUsage,
                     "expected rows of layers 1 to {} and tokens 0 to {}, found [{}, {}) of layer {}", layers(),
                     tokens_ - 1, query_begin, query_end, layer);
    }
    if (sequence_->uses != use_) {
      throw Error(ErrorKind::kUsage,
                  "expected the sequence that the replay was made from, found another: the decoder "
                  "was used again. Make a new replay");
    }
    const at::Tensor attention = internal::on_one_thread([&] {
      const c10::InferenceMode no_gradients;
      const std::size_t count = query_end - query_begin;
      AttentionTask task(forms_[layer - 1]);
      task.queries = queries_[layer - 1].narrow(0, to_signed(query_begin), to_signed(count));
      task.begin = to_signed(query_begin);
      task.keys = sequence_->cache.keys(layer - 1);
      buffer_.reserve(heads() * count * tokens_);
      task.attention = buffer_.view(heads(), count, query_end);
      internal::attend(task, threads_);
      return internal::on_host(task.attention);
    });
    sink.layer(layer, query_begin, internal::view_of(attention));
  }

 private:
  std::vector<internal::LayerForm> forms_;  // for each layer
  std::shared_ptr<const Sequence> sequence_;
  std::size_t use_;
  std::size_t tokens_;
  std::vector<at::Tensor> queries_;  // [n, H d] for each layer
  std::size_t threads_;
  AttentionBuffer buffer_;
};

// Keeps float32 copies of weights only if they take less than half of the memory that is free, and none of quantized
// ones.
internal::ModelTensors::Keep what_to_keep(const ModelWeights& weights, const LoadOptions& options) {
  using Keep = internal::ModelTensors::Keep;
  std::size_t bytes = 0;
  for (const auto& [name, stored] : weights.checkpoint->tensors()) {
    if (stored.reader != nullptr) return Keep::kFew;
    if (!internal::lies_in_place(stored)) bytes += element_count(stored.shape) * sizeof(float);
  }
  const std::optional<std::size_t> available = available_memory();
  const bool is_much = available && bytes > *available / 2;
  return is_much && options.device == "cpu" && !options.copy_weights ? Keep::kFew : Keep::kAll;
}

// The bytes of the largest layer in float32, but for what is read by panels.
std::size_t largest_layer(const ModelWeights& weights, const internal::TensorSource& source) {
  std::size_t largest = 0;
  for (const LayerWeights& layer : weights.layers) {
    std::size_t numbers = 0;
    const auto add = [&](const LinearWeights& map) {
      if (map.weight == nullptr || internal::WeightRows::are(source, map)) return;
      numbers += map.out * map.in();
    };
    for (const LinearWeights* map : {&layer.query, &layer.key, &layer.value, &layer.attention_output, &layer.gate,
                                     &layer.feed_forward_in, &layer.feed_forward_out, &layer.router}) {
      add(*map);
    }
    for (const auto& [gate, in, out] : layer.experts) {
      for (const LinearWeights* map : {&gate, &in, &out}) add(*map);
    }
    largest = std::max(largest, numbers * sizeof(float));
  }
  return largest;
}

// Layers that are made for each pass need room for two: the one that runs, and the next.
void check_room_for_layers(const ModelWeights& weights, const internal::TensorSource& source) {
  const std::size_t needed = 2 * largest_layer(weights, source.for_passing_layers());
  const std::optional<std::size_t> available = available_memory();
  if (!available || needed <= *available) return;
  internal::fail(ErrorKind::kOther,
                 "{}: expected room for two of its layers in float32, {} MiB, found {} MiB of memory free; "
                 "--mixing attention needs none of it",
                 weights.info.name, needed >> 20U, *available >> 20U);
}

class TorchDecoder final : public Decoder, public Gradients<TextInput> {
 public:
  TorchDecoder(const ModelWeights& weights, const LoadOptions& options)
      : info_(weights.info),
        checkpoint_(weights.checkpoint),
        device_(internal::find_device(options.device)),
        threads_(resolve_threads(options.threads)),
        source_(device_, internal::TensorSource::use_of(options), threads_),
        keeps_(what_to_keep(weights, options)),
        tensors_(source_, weights, keeps_),
        sequence_(std::make_shared<Sequence>(weights.config, device_)) {
    if (keeps_ == internal::ModelTensors::Keep::kFew) check_room_for_layers(weights, source_);
    sequence_->cache.reserve(std::min(options.context, config().positions), 0);
  }

  const ModelInfo& info() const override { return info_; }
  Gradients<TextInput>* gradients() override { return this; }
  std::size_t length() const override { return sequence_->length; }
  void reserve(std::size_t tokens) override {
    const std::size_t positions = std::min(tokens, config().positions);
    const std::size_t bytes = sequence_->cache.bytes(positions);
    const auto available = available_memory();
    if (device_.is_cpu() && positions > sequence_->length && available && bytes > *available) {
      internal::fail(ErrorKind::kOther,
                     "{}: expected room for the keys and values of {} tokens, {} MiB, found {} MiB of memory "
                     "free; fewer tokens take less",
                     info_.name, positions, bytes >> 20U, *available >> 20U);
    }
    internal::on_one_thread([&] { sequence_->cache.reserve(positions, sequence_->length); });
  }
  void clear() override {
    sequence_->length = 0;
    ++sequence_->uses;
  }

  void rewind(std::size_t length) override {
    check_rewind(sequence_->length, length);
    sequence_->length = length;
    ++sequence_->uses;
  }

  Tensor<float> append(std::span<const std::int64_t> ids, AttentionSink* sink,
                       const std::stop_token& stop_token) override {
    check_ids(info_, sequence_->length, ids);
    check_decoder_head(info_);
    return to_host(run_pass({.ids = ids, .sink = sink, .positions = {ids.size() - 1}, .stop_token = stop_token})[0]);
  }

  ModelOutput run(const TextInput& input, AttentionSink* sink, const RunOptions& options) override {
    check_text_input(info_, input, options);
    clear();
    const bool of_class = predicts_classes(info_.head);
    std::vector<std::size_t> positions = options.logit_positions;
    if (of_class) positions.resize(1, reading_position(info_, input.ids));
    const at::Tensor logits =
        run_pass({.ids = input.ids, .sink = sink, .positions = positions, .progress = options.progress});
    return {to_host(of_class ? logits[0] : logits)};
  }

  void logits_of_each(std::span<const TextInput> inputs, std::optional<std::size_t> position,
                      const BatchOptions& options, const TakeLogits& take) override {
    for (const TextInput& input : inputs) {
      check_text_input(info_, input, {.logit_positions = {position.value_or(input.ids.size() - 1)}});
    }
    const bool is_long = !inputs.empty() && inputs.front().ids.size() > internal::BranchedTexts::kLongestTrunk;
    if (is_long) return Decoder::logits_of_each(inputs, position, options, take);
    const auto read = [&](const TextInput& input) { return position ? input.up_to(*position).ids : input.ids; };
    const auto last = [&](const std::vector<std::int64_t>& ids) {
      return position.value_or(reading_position(info_, ids));
    };
    for (std::size_t done = 0; done < inputs.size();) {
      std::vector<std::int64_t> trunk = read(inputs.front());
      const std::size_t from = last(trunk);
      internal::BranchedTexts texts(std::move(trunk), from);
      std::size_t end = std::max(done, std::size_t{1});
      for (; end < inputs.size(); ++end) {
        const std::vector<std::int64_t> ids = read(inputs[end]);
        if (!texts.add(ids, last(ids))) break;
      }
      run_branches(texts, options.stop_token, [&](std::size_t text, std::span<const float> logits) {
        // The trunk is the first input, and runs along with each pass.
        if (text > 0 || done == 0) take(text == 0 ? 0 : std::max(done, std::size_t{1}) + text - 1, logits);
      });
      done = end;
      if (options.progress) options.progress(done, inputs.size());
    }
  }

  std::unique_ptr<AttentionReplay> run_for_replay(std::span<const std::int64_t> ids, Tensor<float>* logits,
                                                  const std::stop_token& stop_token,
                                                  const ProgressFunction& progress) override {
    check_ids(info_, 0, ids);
    if (logits != nullptr && !predicts_classes(info_.head)) check_decoder_head(info_);
    clear();
    std::vector<at::Tensor> queries(config().layers);
    std::vector<std::size_t> positions;
    if (logits != nullptr) positions = {reading_position(info_, ids)};
    const at::Tensor last = run_pass(
        {.ids = ids, .positions = positions, .queries = &queries, .stop_token = stop_token, .progress = progress});
    if (logits != nullptr) *logits = to_host(last[0]);
    return std::make_unique<TorchReplay>(tensors_.forms, sequence_, std::move(queries), threads_);
  }

  std::vector<InputGradient> input_gradients(std::span<const TextInput> inputs, std::span<const ScoreTarget> targets,
                                             const BatchOptions& options) override {
    for (const TextInput& input : inputs) check_text_input(info_, input);
    check_targets(info_, inputs, targets);
    std::vector<InputGradient> gradients(inputs.size());
    internal::on_one_thread([&] {
      // Layers that are made for each pass serve one input at a time.
      const std::size_t threads = keeps_ == internal::ModelTensors::Keep::kAll ? threads_ : 1;
      const ParallelOptions parallel = {
          .threads = threads, .progress = options.progress, .stop_token = options.stop_token};
      parallel_for(inputs.size(), parallel, [&](std::size_t i, std::size_t worker) {
        if (worker != 0) at::init_num_threads();
        const Tensor<float>* const given = options.embeddings.empty() ? nullptr : &options.embeddings[i];
        gradients[i] = differentiate(inputs[i].ids, {{targets[i]}}, options.rule, options.stop_token, given).front();
      });
    });
    return gradients;
  }

  bool takes_embeddings() const override { return true; }

  void attention_gradients(const TextInput& input, const ScoreTarget& target, AttentionGradientSink& sink,
                           BackwardRule rule) override {
    check_text_input(info_, input);
    check_target(info_, target, input.ids.size());
    internal::on_one_thread([&] { differentiate(input.ids, {{target, &sink, input.ids.size()}}, rule); });
  }

  void attention_gradients_of_each(const TextInput& input, std::span<const ScoreTarget> targets,
                                   std::span<AttentionGradientSink* const> sinks,
                                   const BatchOptions& options) override {
    check_text_input(info_, input);
    std::vector<SunkTarget> asked;
    for (std::size_t k = 0; k < targets.size(); ++k) {
      check_target(info_, targets[k], input.ids.size());
      asked.push_back({targets[k], sinks[k], targets[k].position.value() + 1});
    }
    const auto groups = groups_of(asked);
    internal::on_one_thread([&] {
      const std::size_t threads = keeps_ == internal::ModelTensors::Keep::kAll ? threads_ : 1;
      std::size_t done = 0;
      std::mutex telling;
      parallel_for(groups.size(), {.threads = threads, .stop_token = options.stop_token},
                   [&](std::size_t g, std::size_t worker) {
                     if (worker != 0) at::init_num_threads();
                     const std::span<const std::int64_t> ids(input.ids.data(), groups[g].back().tokens);
                     differentiate(ids, groups[g], options.rule, options.stop_token);
                     const std::scoped_lock lock(telling);
                     done += groups[g].size();
                     if (options.progress) options.progress(done, targets.size());
                   });
    });
  }

 private:
  struct Pass {
    std::span<const std::int64_t> ids;
    AttentionSink* sink = nullptr;
    std::vector<std::size_t> positions = {};     // indices into `ids` whose logits are wanted
    std::vector<at::Tensor>* queries = nullptr;  // [layers]: where to keep the queries, [n, H d] each
    std::stop_token stop_token = {};
    ProgressFunction progress = {};  // in tokens
  };

  struct SunkTarget {
    ScoreTarget target;
    AttentionGradientSink* sink = nullptr;
    std::size_t tokens = 0;  // that the sink gets
  };

  // Targets that share passes, in the order of their positions: as many as have a limited number of rows in all if
  // weights are made for each pass, and else one, so that threads share them. The bits of results do not depend on the
  // number of threads.
  std::vector<std::vector<SunkTarget>> groups_of(std::vector<SunkTarget> targets) const {
    const std::size_t rows = keeps_ == internal::ModelTensors::Keep::kAll ? 0 : 512;
    std::stable_sort(targets.begin(), targets.end(),
                     [](const SunkTarget& a, const SunkTarget& b) { return a.tokens < b.tokens; });
    std::vector<std::vector<SunkTarget>> groups;
    for (const SunkTarget& one : targets) {
      if (groups.empty() || (groups.back().size() + 1) * one.tokens > rows) groups.emplace_back();
      groups.back().push_back(one);
    }
    return groups;
  }

  // Returns the gradient of each target with respect to the first layer's input and, with sinks, passes them those with
  // respect to the attention of every layer: all query heads, including keys that a query does not see, whose weight is
  // 0. Replaces the ids' embedding by `given` if that is not null. Runs on the calling thread.
  std::vector<InputGradient> differentiate(std::span<const std::int64_t> ids, const std::vector<SunkTarget>& targets,
                                           BackwardRule rule, const std::stop_token& stop_token = {},
                                           const Tensor<float>* given = nullptr) const {
    internal::AutogradOps ops;
    ops.causal = true;
    tensors_.turn(ops, 0, ids.size());
    ops.rule = rule;
    internal::LayeredModel model;
    model.layers = config().layers;
    model.rule = rule;
    model.run_layer = [&](std::size_t layer, const at::Tensor& x, internal::LayerTap* tap,
                          std::optional<std::size_t> next) {
      ops.tap = tap;
      return internal::run_layer(ops, *tensors_.layers.get(layer, next), layer, x);
    };
    std::vector<internal::LayeredTarget> asked;
    for (const SunkTarget& one : targets) {
      const std::size_t position = one.target.position.value_or(reading_position(info_, ids));
      asked.push_back(
          {.value = [&, position](
                        const at::Tensor& x) { return tensors_.value(ops, one.target, x[0][to_signed(position)]); },
           .sink = one.sink,
           .tokens = one.tokens});
    }
    const c10::NoGradGuard no_gradients;  // differentiate_layers() enables them where needed
    at::Tensor embedding = tensors_.embed(ids, 0);
    if (given != nullptr) internal::replace_embedding(embedding[0], *given);
    std::vector<InputGradient> results;
    for (const internal::LayeredGradient& found : internal::differentiate_layers(model, embedding, asked, stop_token)) {
      results.push_back({found.value, to_host(embedding[0]), to_host(found.gradient[0])});
    }
    return results;
  }

  // Passes `take` the logits of each text's wanted row.
  void run_branches(const internal::BranchedTexts& texts, const std::stop_token& stop_token,
                    const TakeLogits& take) const {
    constexpr std::int64_t kLogitRows = 64;  // at once
    internal::on_one_thread([&] {
      const c10::InferenceMode no_gradients;
      const auto indices = [&](const std::vector<std::int64_t>& values) {
        return at::tensor(values, at::TensorOptions(at::kLong)).to(device_);
      };
      internal::BranchOps ops(texts, device_, threads_);
      tensors_.turn(ops, 0, texts.longest());
      const at::Tensor positions = indices(texts.positions());
      for (internal::Rotation* const one : {&ops.rotation, &ops.local_rotation}) {
        if (!one->cos.defined()) continue;
        one->cos = one->cos.index_select(0, positions);
        one->sin = one->sin.index_select(0, positions);
      }
      std::vector<at::Tensor> rows;
      for (const internal::Branches& some : texts.branches()) {
        for (std::size_t row = some.row; row < some.end(); row += some.tokens) {
          rows.push_back(tensors_.embed(std::span(texts.ids()).subspan(row, some.tokens), some.leave));
        }
      }
      const at::Tensor top = tensors_.run_layers(ops, at::cat(rows, 1), stop_token)[0];
      const at::Tensor wanted = top.index_select(0, indices(texts.wanted()));
      for (std::int64_t begin = 0; begin < wanted.size(0); begin += kLogitRows) {
        const std::int64_t count = std::min(kLogitRows, wanted.size(0) - begin);
        const Tensor<float> logits = to_host(tensors_.logits(ops, wanted.narrow(0, begin, count)));
        for (std::int64_t row = 0; row < count; ++row) {
          take(static_cast<std::size_t>(begin + row), logits[static_cast<std::size_t>(row)].span());
        }
      }
    });
  }

  // Returns logits [positions, vocabulary]. On failure, clears the sequence, because its layers may differ in length.
  at::Tensor run_pass(const Pass& pass) {
    ++sequence_->uses;
    try {
      return internal::on_one_thread([&] {
        const c10::InferenceMode no_gradients;
        const at::Tensor hidden = run_chunks(pass);
        if (hidden.size(0) == 0) return at::empty({0, to_signed(info_.vocabulary)}, hidden.options());
        const internal::BlockedOps ops(device_, threads_, internal::OneRow::kVector);
        return tensors_.logits(ops, hidden);
      });
    } catch (...) {
      clear();
      throw;
    }
  }

  // The last layer's output at the requested positions: [positions, hidden].
  at::Tensor run_chunks(const Pass& pass) {
    const std::size_t n = pass.ids.size();
    sequence_->cache.reserve(sequence_->length + n, sequence_->length);
    const at::TensorOptions options = at::TensorOptions(at::kFloat).device(device_);
    const ModelConfig& sizes = config();
    if (pass.queries != nullptr) {
      const std::int64_t width = to_signed(sizes.heads * sizes.head_width);
      for (at::Tensor& kept : *pass.queries) kept = at::empty({to_signed(n), width}, options);
    }
    const at::Tensor wanted = at::empty({to_signed(pass.positions.size()), to_signed(sizes.hidden)}, options);
    const std::size_t past = sequence_->length;
    const std::vector<Chunk> chunks = cut_into_chunks(sizes.heads, past, n);
    AttentionBuffer attention(device_);
    if (pass.sink != nullptr) {
      std::size_t numbers = 0;
      for (const Chunk& chunk : chunks) {
        numbers = std::max(numbers, sizes.heads * chunk.count * (chunk.begin + chunk.count));
      }
      attention.reserve(numbers);
    }
    for (const Chunk& chunk : chunks) {
      const at::Tensor x = run_chunk(pass, chunk.begin - past, chunk.count, attention);
      for (std::size_t i = 0; i < pass.positions.size(); ++i) {
        const std::size_t position = past + pass.positions[i];
        if (position < chunk.begin || position >= chunk.begin + chunk.count) continue;
        wanted[to_signed(i)].copy_(x[to_signed(position - chunk.begin)]);
      }
      sequence_->length += chunk.count;
      if (pass.progress) pass.progress(sequence_->length - past, pass.ids.size());
    }
    return wanted;
  }

  at::Tensor run_chunk(const Pass& pass, std::size_t done, std::size_t count, const AttentionBuffer& buffer) {
    const std::size_t begin = sequence_->length;
    ChunkOps ops(sequence_->cache, begin, device_, threads_, pass.sink);
    tensors_.turn(ops, begin, count);
    if (pass.sink != nullptr) ops.attention = buffer.view(config().heads, count, begin + count);
    if (pass.queries != nullptr) {
      for (const at::Tensor& all : *pass.queries) {
        ops.queries.push_back(all.narrow(0, to_signed(done), to_signed(count)));
      }
    }
    return tensors_.run_layers(ops, tensors_.embed(pass.ids.subspan(done, count), begin), pass.stop_token)[0];
  }

  const ModelConfig& config() const { return tensors_.config; }

  ModelInfo info_;
  std::shared_ptr<const Checkpoint> checkpoint_;  // the weights below point into its files
  at::Device device_;
  std::size_t threads_;
  internal::TensorSource source_;
  internal::ModelTensors::Keep keeps_;
  internal::ModelTensors tensors_;
  std::shared_ptr<Sequence> sequence_;
};

}  // namespace

std::unique_ptr<Decoder> make_torch_decoder(const ModelWeights& weights, const LoadOptions& options) {
  return internal::with_torch_errors(
      [&]() -> std::unique_ptr<Decoder> { return std::make_unique<TorchDecoder>(weights, options); });
}

}  // namespace attnflow
