// What a model is, and how it is run. Backends are shared objects that are loaded when a model needs them.
#ifndef ATTNFLOW_MODEL_MODEL_H_
#define ATTNFLOW_MODEL_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/base/error.h"
#include "attnflow/base/progress.h"
#include "attnflow/files/folder.h"
#include "attnflow/graph/attention_gradient_sink.h"
#include "attnflow/graph/attention_sink.h"
#include "attnflow/model/image_info.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

enum class ModelHead { kNone, kMaskedLm, kClassification, kCausalLm };

// What a user should know beside the numbers: something lies in the model's files that these do not show.
struct ModelNote {
  Note note;
  std::size_t beyond = 0;  // it concerns inputs of more tokens than this
};

struct ModelInfo {
  std::string name;          // the folder's name
  std::string architecture;  // config.json's model_type: "bert", "roberta", ...
  std::size_t layers = 0;
  std::size_t heads = 0;            // of the queries: as many as there are attention matrices in a layer
  std::size_t key_value_heads = 0;  // fewer where heads share keys and values; 0: as many as heads
  std::size_t hidden = 0;
  std::size_t vocabulary = 0;  // rows of the word embedding; 0: takes pictures
  // Text: positions that the model can address (RoBERTa: without its padding offset). Pictures: the tokens of one of
  // the size that the model was trained on; others are addressed by interpolation and may have more.
  std::size_t max_tokens = 0;
  bool causal = false;
  ModelHead head = ModelHead::kNone;  // which head's weights the files hold
  std::vector<std::string> labels;    // classification: a name for each class
  bool multi_label = false;           // classification: several classes may hold at once (problem_type in config.json)
  std::size_t parameters = 0;
  std::optional<ImageInfo> image = {};  // of a model that takes pictures; absent: it takes text
  std::vector<ModelNote> notes = {};

  // Those that concern an input of so many tokens.
  std::vector<Note> notes_for(std::size_t tokens) const {
    std::vector<Note> found;
    for (const ModelNote& one : notes) {
      if (tokens > one.beyond) found.push_back(one.note);
    }
    return found;
  }
};

// What a model is given: ids (a text) or pixels (a picture), never both.
struct ModelInput {
  std::vector<std::int64_t> ids;       // [n], n >= 1
  std::vector<std::int64_t> type_ids;  // [n], or empty: all 0
  // [channels, height, width], normalised as the model's preprocessor_config.json says. Height and width are multiples
  // of the patch, not always those of the training: the position embedding is interpolated as transformers does it
  // (interpolate_pos_encoding). The tokens are those of image_tokens().
  Tensor<float> pixels = {};
};

struct ModelOutput {
  // kClassification: logits [classes]. kMaskedLm and kCausalLm (of the token that follows): logits
  // [positions asked for, vocabulary]. kNone: empty.
  // attnflow/model/prediction.h turns them into probabilities.
  Tensor<float> logits;
};

struct RunOptions {
  std::vector<std::size_t> logit_positions;  // kMaskedLm, kCausalLm: positions whose logits are wanted
};

// What an importance score is taken of: one number that follows from the logits of a classifier.
struct ScoreTarget {
  enum class Kind {
    kLogit,                  // logit[label]
    kProbability,            // softmax(logits)[label]
    kProbabilityDifference,  // softmax(logits)[label] - softmax(logits)[other]
  };
  Kind kind = Kind::kProbability;
  std::size_t label = 0;
  std::size_t other = 0;
};

// A target's value and its gradient with respect to what the embedding module hands to the first layer: after its layer
// norm where it has one, before the projection to the hidden size where there is one.
struct InputGradient {
  double value = 0.0;
  Tensor<float> embedding;  // [n, width]
  Tensor<float> gradient;   // [n, width]: d value / d embedding
};

struct BatchOptions {
  std::size_t max_tokens = 4096;   // of one padded batch, padding counted; one sequence may be longer
  ProgressFunction progress = {};  // in sequences
  std::stop_token stop_token = {};
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;
  // Runs one sequence; attention goes to `sink` (may be null) layer by layer, as it is computed. No padding, so no
  // mask. Same input, same bits, whatever the number of threads. Throws Error(kUsage) for an empty input, a logit
  // position outside it, a picture for a model of text or the other way round, or a picture that the model's patches do
  // not fit; Error(kInputTooLong) when a text exceeds info().max_tokens, Error(kBadFile) when an id is outside the
  // vocabulary.
  virtual ModelOutput run(const ModelInput& input, AttentionSink* sink, const RunOptions& options = {}) = 0;

  // The logits of many sequences, [classes] each, in the order given: what run() gives, up to the rounding of float32.
  // Sequences of about the same length are padded to one batch; padding is masked, so it changes nothing. Pictures of
  // the same size make a batch. Batches are shared out among the threads. Same inputs, same bits, whatever the number
  // of threads. Throws as run() does, and Error(kUnsupportedModel) for a model without a classification head.
  virtual std::vector<Tensor<float>> classify(std::span<const ModelInput> inputs, const BatchOptions& options = {}) = 0;

  // The gradient of targets[i] for inputs[i]: of a classifier's output, or of a decoder's logits behind the last
  // position, where labels are token ids. Batches, order, bits and errors as above; Error(kUsage) for a target that
  // names a label which the model does not have, or another number of targets than inputs.
  virtual std::vector<InputGradient> input_gradients(std::span<const ModelInput> inputs,
                                                     std::span<const ScoreTarget> targets,
                                                     const BatchOptions& options = {}) = 0;

  // Runs one input, forward and back, and hands the attention of every layer to `sink` with the gradient of `target`,
  // from the top layer down: of a classifier's output, or of a decoder's logits behind the last position. What a layer
  // was given is kept on the way up and the layer is computed once more on the way down, so memory is O(L n d + H n^2),
  // of one layer at a time. Same input, same bits, whatever the number of threads. Throws as run() and
  // input_gradients() do; Error(kUnsupportedModel) where the backend has no gradients, as llama.cpp has none.
  virtual void attention_gradients(const ModelInput& input, const ScoreTarget& target, AttentionGradientSink& sink) {
    (void)input;
    (void)target;
    (void)sink;
    throw Error(ErrorKind::kUnsupportedModel,
                "expected a model whose attention has gradients (a Hugging Face folder, run by libtorch), found " +
                    info().name + ", whose backend computes none");
  }
};

struct LoadOptions {
  std::string device = "cpu";  // cpu, or cuda[:N] where the backend has it
  std::size_t threads = 0;     // 0: one per hardware thread; GGUF models: at most one per idle processor
  std::size_t context = 0;     // decoders: positions to make room for; 0: as many as a sequence turns out to need
  bool copy_weights = false;   // into memory, so that the files may change while the model lives
  // Folders: leave out tensors that config.json has no place for, such as layers beyond its number of layers.
  bool allow_unused_weights = false;
};

// Loads a Hugging Face folder (config.json and model.safetensors, or model.safetensors.index.json and its shards).
// Weights are mapped, not copied, where the backend can use them as they are: the files must not change while the model
// lives (a file that becomes shorter ends the program with SIGBUS), unless options.copy_weights is set. For the folder
// of a built-in model, or of a name that a user gives: attnflow/model/builtin_models.h. Throws Error(kBadFile) for
// missing or damaged files or weights that config.json has no place for, Error(kUnsupportedModel) for an architecture
// that no backend runs or when the backend is not installed (attnflow/model/backend.h says where it is looked for),
// Error(kUsage) for a device that is not there.
std::unique_ptr<Model> load_model(const Folder& folder, const LoadOptions& options = {});

// Reads config.json and the headers of the weight files only, and checks them: no backend is loaded, no weights are
// read. Throws as load_model().
ModelInfo read_model_info(const Folder& folder, const LoadOptions& options = {});

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_MODEL_H_
