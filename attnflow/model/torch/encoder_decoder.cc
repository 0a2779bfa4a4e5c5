#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "attnflow/base/parallel_for.h"
#include "attnflow/base/progress.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/model_input.h"
#include "attnflow/model/torch/block_terms.h"
#include "attnflow/model/torch/blocked_ops.h"
#include "attnflow/model/torch/decoder_attention.h"
#include "attnflow/model/torch/encoder_positions.h"
#include "attnflow/model/torch/joint_gradients.h"
#include "attnflow/model/torch/make_models.h"
#include "attnflow/model/torch/model_tensors.h"

namespace attnflow {

namespace {

using internal::AttentionTask;
using internal::BlockTerms;
using internal::to_signed;

// Places what the layers do with all new tokens in the joint sequence: the m source tokens, then the target.
class JointRows {
 public:
  // The new tokens are [begin, end). `sink` may be null.
  JointRows(AttentionSink* sink, std::size_t source, std::size_t begin, std::size_t end)
      : sink_(sink), source_(to_signed(source)), begin_(to_signed(begin)), end_(to_signed(end)) {}

  bool wanted() const { return sink_ != nullptr; }
  bool wants_terms() const { return wanted() && sink_->wants_terms(); }

  // A block has its layer's number and rows in the order of its own tokens: attention and, if terms are wanted, the
  // rest. It is of source tokens alone, or of the new target tokens, which attend to the target or to the source.
  void from_encoder(const BlockTerms& block) { send(0, 0, block); }
  void to_target(const BlockTerms& block) { send(std::max(begin_, source_), source_, block); }
  void to_source(const BlockTerms& block) { send(std::max(begin_, source_), 0, block); }
  // For an encoder layer that has already run: none of the new tokens has a row in `block`.
  void past_encoder(const BlockTerms& block) { send(begin_, 0, block); }

 private:
  // The first row of `block` is that of token `row`, its first key token `column`.
  void send(std::int64_t row, std::int64_t column, const BlockTerms& block) {
    if (!wanted()) return;
    if (wants_terms()) return internal::send_terms(with_all_rows(row, column, block), *sink_);
    const std::int64_t rows = end_ - begin_;
    const at::Tensor joint = at::eye(rows, at::TensorOptions(at::kFloat)).unsqueeze(0);
    const at::Tensor before = at::zeros({1, rows, begin_}, joint.options());
    const at::Tensor all = at::cat({before, joint}, 2).repeat({block.attention.size(0), 1, 1});
    all.narrow(1, row - begin_, block.attention.size(1)).zero_();
    place_attention(row, column, block.attention, all);
    sink_->layer(block.layer, static_cast<std::size_t>(begin_), internal::view_of(all));
  }

  void place_attention(std::int64_t row, std::int64_t column, const at::Tensor& attention,
                       const at::Tensor& all) const {
    all.narrow(1, row - begin_, attention.size(1)).narrow(2, column, attention.size(2)).copy_(attention);
  }

  // The layer leaves other tokens alone: zeros stand for their streams, and for the scale of what would reach them.
  BlockTerms with_all_rows(std::int64_t row, std::int64_t column, const BlockTerms& block) const {
    const std::int64_t rows = end_ - begin_;
    const at::TensorOptions options = at::TensorOptions(at::kFloat);
    const auto at_rows = [&](const at::Tensor& some, std::int64_t first) {
      std::vector<std::int64_t> shape = some.sizes().vec();
      shape[0] = rows;
      at::Tensor all = at::zeros(shape, options);
      // The source's values came with the first tokens.
      if (first >= begin_) all.narrow(0, first - begin_, some.size(0)).copy_(some);
      return all;
    };
    BlockTerms joint = block;
    joint.begin = static_cast<std::size_t>(begin_);
    joint.attention = at::zeros({block.attention.size(0), rows, end_}, options);
    place_attention(row, column, block.attention, joint.attention);
    joint.values = at_rows(block.values, column + block.attention.size(2) - block.values.size(0));
    joint.block_scale = at_rows(at::ones({block.output.size(0)}, options), row);
    joint.residual = at_rows(block.residual, row);
    joint.output = at_rows(block.output, row);
    return joint;
  }

  AttentionSink* sink_;
  std::int64_t source_;
  std::int64_t begin_;
  std::int64_t end_;
};

class JointOps : public internal::BlockedOps {
 protected:
  JointOps(at::Device device, std::size_t threads, internal::OneRow one_row, JointRows& rows)
      : BlockedOps(device, threads, one_row), rows_(rows) {}

  // The context [1, T, H d] of queries [1, T, H, d] that see `keys` keys. `values` [T, G, d] are those that the block
  // has not seen before. Keeps what finished() needs.
  at::Tensor run(AttentionTask& task, const at::Tensor& query, std::int64_t keys, const at::Tensor& values) {
    task.queries = query.view({query.size(1), -1});
    task.context = at::empty_like(task.queries);
    if (rows_.wanted()) task.attention = at::empty({task.form.heads, query.size(1), keys}, query.options());
    internal::attend(task, threads());
    attention_ = task.attention;
    if (rows_.wants_terms()) values_ = values;
    return task.context.unsqueeze(0);
  }

  // The block that has just attended, with streams x and y.
  BlockTerms finished(std::size_t layer, const at::Tensor& x, const at::Tensor& y) {
    return {.layer = layer,
            .attention = std::exchange(attention_, {}),
            .values = std::exchange(values_, {}),
            .residual = x[0],
            .output = y[0]};
  }

  // The maps of an attention block after which the layer runs to its end; `norm` is the one after it, if any is.
  void end_with(BlockTerms& block, const internal::TransformerLayer& layer, const internal::Norm& norm) {
    if (layer.form.norm_place == NormPlace::kAfter) {
      block.norm = &norm;
      block.last_norm = &layer.feed_forward_norm;
    }
    block.rest = [&](at::Tensor y) { return internal::rest_of_layer(*this, layer, std::move(y)); };
  }

  JointRows& rows_;

 private:
  at::Tensor attention_;  // [H, T, key]
  at::Tensor values_;
};

class SourceOps : public JointOps {
 public:
  SourceOps(at::Device device, std::size_t threads, JointRows& rows)
      : JointOps(device, threads, internal::OneRow::kMatrix, rows) {}

  at::Tensor score_bias;  // [H, m, m], or undefined

  at::Tensor attend(const internal::LayerForm& form, std::size_t /*index*/, const at::Tensor& query,
                    const at::Tensor& key, const at::Tensor& value) {
    AttentionTask task(form);
    task.all_keys = key.size(1);
    task.keys = key[0].transpose(0, 1);
    task.values = value[0].transpose(0, 1);
    task.score_bias = score_bias;
    return run(task, query, task.all_keys, value[0]);
  }

  const at::Tensor& attended(const internal::TransformerLayer& layer, std::size_t index, const at::Tensor& x,
                             const at::Tensor& y) {
    if (rows_.wanted()) rows_.from_encoder(described(layer, finished(index + 1, x, y)));
    return y;
  }

  // For tokens that come after the layer has run.
  void pass_by(const internal::TransformerLayer& layer, std::size_t index) {
    const internal::LayerForm& form = layer.form;
    const at::Tensor none = at::empty({0, 0, 0}, at::TensorOptions(at::kFloat));
    const at::Tensor streams = none.new_empty({0, layer.attention_norm.scale.size(0)});
    BlockTerms block{.layer = index + 1,
                     .attention = none.new_empty({form.heads, 0, 0}),
                     .values = none.new_empty({0, form.key_value_heads, form.head_width}),
                     .residual = streams,
                     .output = streams};
    rows_.past_encoder(described(layer, std::move(block)));
  }

 private:
  BlockTerms described(const internal::TransformerLayer& layer, BlockTerms block) {
    if (!rows_.wants_terms()) return block;
    block.projection = internal::written_projection(layer);
    end_with(block, layer, layer.attention_norm);
    return block;
  }
};

// Keys and values of the source in a decoder layer: [H, m, d].
struct SourceKeys {
  at::Tensor keys;
  at::Tensor values;
};

class TargetOps : public JointOps {
 public:
  TargetOps(internal::KeyValueCache& cache, const std::vector<SourceKeys>& source, std::size_t begin, at::Device device,
            std::size_t threads, JointRows& rows, std::size_t encoder_layers)
      : JointOps(device, threads, internal::OneRow::kVector, rows),
        cache_(cache),
        source_(source),
        begin_(begin),
        encoder_layers_(encoder_layers) {}

  at::Tensor score_bias;  // [H, new, begin + new], or undefined

  at::Tensor attend(const internal::LayerForm& form, std::size_t index, const at::Tensor& query, const at::Tensor& key,
                    const at::Tensor& value) {
    cache_.write(index, begin_, key[0], value[0]);
    AttentionTask task(form);
    task.begin = to_signed(begin_);
    task.keys = cache_.keys(index);
    task.values = cache_.values(index);
    task.score_bias = score_bias;
    return run(task, query, task.begin + query.size(1), value[0]);
  }

  // The rest of this layer of the joint graph is the norm after the block, if norms come after.
  const at::Tensor& attended(const internal::TransformerLayer& layer, std::size_t index, const at::Tensor& x,
                             const at::Tensor& y) {
    if (!rows_.wanted()) return y;
    BlockTerms terms = finished(encoder_layers_ + 2 * index + 1, x, y);
    if (rows_.wants_terms()) {
      const bool has_norm = layer.form.norm_place == NormPlace::kAfter;
      terms.projection = internal::written_projection(layer);
      if (has_norm) terms.norm = &layer.attention_norm;
      terms.rest = [&](const at::Tensor& rows) { return has_norm ? layer.attention_norm(rows) : rows; };
    }
    rows_.to_target(terms);
    return y;
  }

  at::Tensor attend_to_source(const internal::LayerForm& form, std::size_t index, const at::Tensor& query) {
    AttentionTask task(form);
    task.keys = source_[index].keys;
    task.values = source_[index].values;
    task.all_keys = task.keys.size(1);
    return run(task, query, task.all_keys, task.values.transpose(0, 1));
  }

  const at::Tensor& attended_to_source(const internal::TransformerLayer& layer, std::size_t index, const at::Tensor& y,
                                       const at::Tensor& z) {
    if (!rows_.wanted()) return z;
    BlockTerms terms = finished(encoder_layers_ + 2 * index + 2, y, z);
    if (rows_.wants_terms()) {
      terms.projection = layer.cross_output.whole().weight.t();
      end_with(terms, layer, layer.cross_norm);
    }
    rows_.to_source(terms);
    return z;
  }

 private:
  internal::KeyValueCache& cache_;
  const std::vector<SourceKeys>& source_;
  std::size_t begin_;
  std::size_t encoder_layers_;
};

class TorchEncoderDecoder final : public Decoder, public Gradients<TextInput> {
 public:
  TorchEncoderDecoder(const EncoderDecoderWeights& weights, const LoadOptions& options)
      : info_(weights.info),
        target_info_(weights.info),
        never_(weights.never),
        checkpoint_(weights.checkpoint),
        device_(internal::find_device(options.device)),
        tensors_(device_, internal::TensorSource::use_of(options)),
        encoder_(tensors_, weights.encoder),
        decoder_(tensors_, weights.decoder),
        threads_(resolve_threads(options.threads)),
        cache_(weights.decoder.config, device_) {
    target_info_.max_tokens = info_.target->max_tokens;
  }

  const ModelInfo& info() const override { return info_; }
  std::size_t length() const override { return source_tokens_ + target_tokens_; }
  void clear() override { source_tokens_ = target_tokens_ = 0; }
  void rewind(std::size_t length) override {
    check_rewind(this->length(), length);
    if (length != 0 && length <= source_tokens_) {
      internal::fail(ErrorKind::kUsage, "expected to keep the whole source of {} tokens and more, or nothing, found {}",
                     source_tokens_, length);
    }
    if (length == 0) return clear();
    target_tokens_ = length - source_tokens_;
  }
  // The memory for the source depends only on the source.
  void reserve(std::size_t tokens) override {
    const std::size_t positions = std::min(tokens, info_.target->max_tokens);
    internal::on_one_thread([&] { cache_.reserve(positions, target_tokens_); });
  }

  Tensor<float> append(std::span<const std::int64_t> ids, AttentionSink* sink,
                       const std::stop_token& stop_token) override {
    const bool first = length() == 0;
    const std::size_t source = first ? source_part(ids) : source_tokens_;
    const std::span<const std::int64_t> target = first ? ids.subspan(source) : ids;
    if (first) check_ids(info_, 0, ids.first(source));
    check_ids(target_info_, target_tokens_, target);
    JointRows rows(sink, source, length(), length() + ids.size());
    return guarded([&] {
      if (first) {
        read_source(ids.first(source), rows, stop_token);
      } else if (sink != nullptr) {
        SourceOps ops(device_, threads_, rows);
        for (std::size_t index = 0; index < encoder_.config.layers; ++index) {
          ops.pass_by(*encoder_.layers.get(index), index);
        }
      }
      Tensor<float> logits = write_target(target, rows, stop_token, {target.size() - 1});
      for (const std::int64_t id : never_) {
        logits.data()[static_cast<std::size_t>(id)] = -std::numeric_limits<float>::infinity();
      }
      return Tensor<float>({logits.size()}, {logits.span().begin(), logits.span().end()});
    });
  }

  // Logits are the model's own, also those of tokens that a generation never writes.
  ModelOutput run(const TextInput& input, AttentionSink* sink, const RunOptions& options) override {
    const Parts parts = checked_parts(input);
    std::vector<std::size_t> rows_wanted;
    for (const std::size_t position : options.logit_positions) {
      if (position < input.source || position >= input.ids.size()) {
        internal::fail(ErrorKind::kUsage, "expected logit positions of the target, from {} to {}, found {}",
                       input.source, input.ids.size() - 1, position);
      }
      rows_wanted.push_back(position - input.source);
    }
    JointRows rows(sink, input.source, 0, input.ids.size());
    clear();
    return guarded([&]() -> ModelOutput {
      read_source(parts.source, rows, {});
      return {write_target(parts.target, rows, {}, rows_wanted)};
    });
  }

  // A source that several inputs share is read once, and so is what their targets begin with.
  void logits_of_each(std::span<const TextInput> inputs, std::optional<std::size_t> position,
                      const BatchOptions& options, const TakeLogits& take) override {
    std::vector<std::int64_t> before;
    // From the last on, as Decoder does.
    for (std::size_t i = inputs.size(); i-- > 0;) {
      if (options.stop_token.stop_requested()) throw Cancelled();
      const TextInput input = position ? inputs[i].up_to(*position) : inputs[i];
      const Parts parts = checked_parts(input);
      JointRows none(nullptr, input.source, 0, input.ids.size());
      const Tensor<float> logits = guarded([&] {
        const bool is_known = std::ranges::equal(parts.source, std::span(source_ids_).first(source_tokens_));
        if (!is_known) read_source(parts.source, none, options.stop_token);
        const auto differ = std::ranges::mismatch(input.ids, before);
        const auto shared = std::min(static_cast<std::size_t>(differ.in1 - input.ids.begin()), input.ids.size() - 1);
        target_tokens_ = is_known ? std::max(shared, input.source) - input.source : 0;
        const std::span<const std::int64_t> rest = parts.target.subspan(target_tokens_);
        return write_target(rest, none, options.stop_token, {rest.size() - 1});
      });
      before = input.ids;
      take(i, logits.span());
      if (options.progress) options.progress(inputs.size() - i, inputs.size());
    }
  }

  Gradients<TextInput>* gradients() override { return this; }
  bool takes_embeddings() const override { return true; }

  void attention_gradients(const TextInput& input, const ScoreTarget& target, AttentionGradientSink& sink,
                           BackwardRule rule) override {
    check_target(info_, target, input.ids.size());
    differentiate(input, target, rule, &sink);
  }
  std::vector<InputGradient> input_gradients(std::span<const TextInput> inputs, std::span<const ScoreTarget> targets,
                                             const BatchOptions& options) override {
    check_targets(info_, inputs, targets);
    std::vector<InputGradient> found;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (options.stop_token.stop_requested()) throw Cancelled();
      const Tensor<float>* const given = options.embeddings.empty() ? nullptr : &options.embeddings[i];
      found.push_back(differentiate(inputs[i], targets[i], options.rule, nullptr, given));
      if (options.progress) options.progress(i + 1, inputs.size());
    }
    return found;
  }
  std::unique_ptr<AttentionReplay> run_for_replay(std::span<const std::int64_t> /*ids*/, Tensor<float>* /*logits*/,
                                                  const std::stop_token& /*stop_token*/,
                                                  const ProgressFunction& /*progress*/) override {
    check_one_text(info_);
    return nullptr;
  }

 private:
  struct Parts {
    std::span<const std::int64_t> source;
    std::span<const std::int64_t> target;
  };

  Parts checked_parts(const TextInput& input) const {
    const std::span<const std::int64_t> ids(input.ids);
    if (input.source == 0 || input.source >= ids.size()) {
      internal::fail(ErrorKind::kUsage,
                     "expected the tokens of a source and of a target for {}, found {} tokens, {} of them the source's",
                     info_.name, ids.size(), input.source);
    }
    const Parts parts = {ids.first(input.source), ids.subspan(input.source)};
    check_ids(info_, 0, parts.source);
    check_ids(target_info_, 0, parts.target);
    return parts;
  }

  // Calls function() without gradients. On failure, clears the sequence, whose layers may differ in length.
  template <typename Function>
  std::invoke_result_t<const Function&> guarded(const Function& function) {
    try {
      return internal::on_one_thread([&] {
        const c10::InferenceMode no_gradients;
        return function();
      });
    } catch (...) {
      clear();
      throw;
    }
  }

  // `sink` and `embedding` may be null.
  InputGradient differentiate(const TextInput& input, const ScoreTarget& target, BackwardRule rule,
                              AttentionGradientSink* sink, const Tensor<float>* embedding = nullptr) const {
    const Parts parts = checked_parts(input);
    return internal::on_one_thread([&] {
      return internal::differentiate_joint({.encoder = encoder_,
                                            .decoder = decoder_,
                                            .source = parts.source,
                                            .target = parts.target,
                                            .source_bias = score_bias(encoder_, 0, parts.source.size()),
                                            .target_bias = score_bias(decoder_, 0, parts.target.size()),
                                            .score = target,
                                            .rule = rule,
                                            .embedding = embedding},
                                           sink);
    });
  }

  std::size_t source_part(std::span<const std::int64_t> ids) const {
    const std::vector<std::int64_t>& begin = info_.target->begin;
    if (ids.size() > begin.size() && std::equal(begin.rbegin(), begin.rend(), ids.rbegin())) {
      return ids.size() - begin.size();
    }
    internal::fail(ErrorKind::kUsage,
                   "expected a source followed by {}, the tokens that a target of {} "
                   "begins with, found {} tokens",
                   fmt::join(begin, ", "), info_.name, ids.size());
  }

  at::Tensor score_bias(const internal::ModelTensors& stack, std::size_t begin, std::size_t queries) const {
    if (!stack.distance_bias.defined()) return {};
    return internal::distance_scores_of(stack.distance_bias, *stack.config.buckets, to_signed(begin),
                                        to_signed(queries), to_signed(begin + queries));
  }

  void read_source(std::span<const std::int64_t> ids, JointRows& rows, const std::stop_token& stop_token) {
    clear();
    SourceOps ops(device_, threads_, rows);
    ops.score_bias = score_bias(encoder_, 0, ids.size());
    const at::Tensor x = ops.normed(encoder_.final_norm, encoder_.run_layers(ops, encoder_.embed(ids, 0), stop_token));
    source_.clear();
    for (std::size_t index = 0; index < decoder_.config.layers; ++index) {
      const internal::TransformerLayer& layer = *decoder_.layers.get(index);
      const std::vector<at::Tensor> maps = ops.linear({&layer.cross_key, &layer.cross_value}, x);
      const auto by_head = [&](const at::Tensor& map) {
        return map.view({x.size(1), -1, layer.form.head_width}).transpose(0, 1);
      };
      source_.push_back({by_head(maps[0]), by_head(maps[1])});
    }
    source_tokens_ = ids.size();
    source_ids_.assign(ids.begin(), ids.end());
  }

  // Appends to the target. Returns the logits [positions, vocabulary] after the tokens at `positions` of `ids`.
  Tensor<float> write_target(std::span<const std::int64_t> ids, JointRows& rows, const std::stop_token& stop_token,
                             const std::vector<std::size_t>& positions) {
    cache_.reserve(target_tokens_ + ids.size(), target_tokens_);
    TargetOps ops(cache_, source_, target_tokens_, device_, threads_, rows, encoder_.config.layers);
    ops.score_bias = score_bias(decoder_, target_tokens_, ids.size());
    const at::Tensor x = decoder_.run_layers(ops, decoder_.embed(ids, target_tokens_), stop_token);
    target_tokens_ += ids.size();
    if (positions.empty()) return {};
    std::vector<at::Tensor> wanted;
    for (const std::size_t position : positions) wanted.push_back(x[0].narrow(0, to_signed(position), 1));
    return internal::to_host(decoder_.logits(ops, at::cat(wanted)));
  }

  ModelInfo info_;
  ModelInfo target_info_;  // the same, with the target's positions
  std::vector<std::int64_t> never_;
  std::shared_ptr<const Checkpoint> checkpoint_;  // the weights below point into its files
  at::Device device_;
  internal::TensorSource tensors_;
  internal::ModelTensors encoder_;
  internal::ModelTensors decoder_;
  std::size_t threads_;
  internal::KeyValueCache cache_;         // of the target
  std::vector<SourceKeys> source_;        // for each decoder layer
  std::vector<std::int64_t> source_ids_;  // of the last sequence
  std::size_t source_tokens_ = 0;
  std::size_t target_tokens_ = 0;
};

}  // namespace

std::unique_ptr<Decoder> make_torch_encoder_decoder(const EncoderDecoderWeights& weights, const LoadOptions& options) {
  return internal::with_torch_errors(
      [&]() -> std::unique_ptr<Decoder> { return std::make_unique<TorchEncoderDecoder>(weights, options); });
}

}  // namespace attnflow
