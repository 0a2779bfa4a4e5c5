// A model of Python as the library's own: a TextModel with its gradients, and the tokenizer's reading of one text.
//
// Python's object (python/attnflow/backend.py, Backend) runs the model; everything that is asked of it, and everything
// that is made of its numbers, is the library's: the same code that explains a model of files.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "attnflow/explain/explain_options.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/model/decoder.h"
#include "attnflow/model/model.h"
#include "attnflow/text/text_codec.h"
#include "python/binding/work.h"

namespace attnflow::python {

// A tokenizer's vocabulary, and the text that it has read. encode() gives that text with its pair; of others, the
// tokens.
class PythonCodec : public TextCodec {
 public:
  // Reads the backend's tokens and texts, with the interpreter's lock.
  explicit PythonCodec(nanobind::object backend);

  Encoding encode(std::string_view text, const std::optional<std::string>& pair,
                  const EncodeOptions& options) const override;
  std::size_t id_limit() const override { return limit_; }
  std::vector<std::int64_t> word_to_ids(std::string_view word) const override;
  std::optional<std::int64_t> mask_id() const override { return mask_; }
  std::optional<std::int64_t> unknown_id() const override { return unknown_; }
  std::optional<std::int64_t> padding_id() const override { return padding_; }
  std::optional<std::int64_t> end_id() const override { return std::nullopt; }  // one of those that is_end() knows
  std::string spelled(std::int64_t id) const override;
  std::string readable(std::int64_t id) const override;
  std::string bytes(std::int64_t id) const override;
  bool is_special(std::int64_t id) const override { return specials_.contains(id); }
  bool is_end(std::int64_t id) const override { return ends_.contains(id); }
  std::string chat(const std::vector<ChatMessage>& messages) const override;
  std::string source() const override { return source_; }

  const std::string& text() const { return text_; }
  const std::optional<std::string>& pair() const { return pair_; }

 private:
  nanobind::object backend_;
  Encoding encoding_;
  std::string text_;
  std::optional<std::string> pair_;
  std::size_t limit_ = 0;
  std::optional<std::int64_t> mask_;
  std::optional<std::int64_t> unknown_;
  std::optional<std::int64_t> padding_;
  std::unordered_set<std::int64_t> specials_;
  std::unordered_set<std::int64_t> ends_;
  std::string source_;
};

// Python's object. Every call runs on the thread that called Python's function, with the interpreter's lock
// (python/binding/work.h), so that what holds for that thread (autocast, hooks, interrupts) holds for the model.
class PythonBackend {
 public:
  // Both outlive it.
  PythonBackend(const nanobind::object& object, Caller& caller) : object_(object), caller_(caller) {}

  // Calls function(object) as above. Errors of the package's own become attnflow::Error; others pass.
  void call(const std::function<void(const nanobind::object& object)>& function) const;

 private:
  const nanobind::object& object_;
  Caller& caller_;
};

template <typename Input>
class PythonGradients : public Gradients<Input> {
 public:
  explicit PythonGradients(const PythonBackend& backend) : backend_(backend) {}
  std::vector<InputGradient> input_gradients(std::span<const Input> inputs, std::span<const ScoreTarget> targets,
                                             const BatchOptions& options) override;
  bool takes_embeddings() const override { return true; }
  void prepare() override;
  void attention_gradients(const Input& input, const ScoreTarget& target, AttentionGradientSink& sink,
                           BackwardRule rule) override;

 private:
  const PythonBackend& backend_;
};

// `Base`: TextModel, Decoder or VisionModel.
template <typename Base, typename Input>
class PythonModel : public Base {
 public:
  // `options`: those for rows of attention that do not sum to 1. Both outlive it.
  PythonModel(const PythonBackend& backend, const ExplainOptions& options);

  const ModelInfo& info() const override { return info_; }
  ModelOutput run(const Input& input, AttentionSink* sink, const RunOptions& options) override;
  bool has_terms() const override;
  Gradients<Input>* gradients() override { return &gradients_; }

  // Rows of zeros that were divided by their sums.
  const ZeroRows& zero_rows() const { return zeros_; }

 private:
  const PythonBackend& backend_;
  const ExplainOptions& options_;
  ModelInfo info_;
  ZeroRows zeros_;
  PythonGradients<Input> gradients_{backend_};

 protected:
  const PythonBackend& backend() const { return backend_; }
};

template <typename Base>
class PythonText : public PythonModel<Base, TextInput> {
 public:
  using PythonModel<Base, TextInput>::PythonModel;
  void logits_of_each(std::span<const TextInput> inputs, std::optional<std::size_t> position,
                      const BatchOptions& options, const TakeLogits& take) override;
};

using PythonTextModel = PythonText<TextModel>;

class PythonVisionModel : public PythonModel<VisionModel, PixelInput> {
 public:
  using PythonModel::PythonModel;
  std::vector<Tensor<float>> classify(std::span<const PixelInput> inputs, const BatchOptions& options) override;
};

// Reads a whole sequence at once, to explain a text that is already written: it has no cache.
class PythonDecoder : public PythonText<Decoder> {
 public:
  using PythonText::PythonText;

  std::size_t length() const override { return ids_.size(); }
  void clear() override { ids_.clear(); }
  void rewind(std::size_t length) override;
  void reserve(std::size_t /*tokens*/) override {}
  // Both to an empty sequence only.
  Tensor<float> append(std::span<const std::int64_t> ids, AttentionSink* sink, const std::stop_token& stop) override;
  Tensor<float> append_each(std::span<const std::int64_t> ids, std::size_t first, AttentionSink* sink,
                            const std::stop_token& stop) override;
  std::unique_ptr<AttentionReplay> run_for_replay(std::span<const std::int64_t> ids, Tensor<float>* logits,
                                                  const std::stop_token& stop,
                                                  const ProgressFunction& progress) override;

 private:
  std::vector<std::int64_t> ids_;
};

// The sinks that Python's object fills.
void bind_text_model(nanobind::module_& module);

}  // namespace attnflow::python
