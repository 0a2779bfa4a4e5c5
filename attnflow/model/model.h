// Defines what a model is and how to run one. attnflow/model/model_files.h finds and loads models.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <type_traits>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/base/error.h"
#include "attnflow/base/progress.h"
#include "attnflow/graph/attention_gradient_sink.h"
#include "attnflow/graph/attention_sink.h"
#include "attnflow/model/image_info.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// The model's prediction: the token at a mask, a class for the whole input, a class for each token, where an answer
// begins and ends, the next token, or the text's embedding: one vector pooled from the last hidden states.
enum class ModelHead {
  kNone,
  kMaskedLm,
  kClassification,
  kTokenClassification,
  kQuestionAnswering,
  kCausalLm,
  kEmbedding
};

// How an embedding is pooled: the mean over all tokens, special tokens included, or the first token's state.
enum class Pooling : std::uint8_t { kMean, kFirstToken };

// Whether the prediction is one of the whole input.
constexpr bool predicts_whole(ModelHead head) {
  return head == ModelHead::kClassification || head == ModelHead::kEmbedding;
}

constexpr bool predicts_classes(ModelHead head) {
  return head == ModelHead::kClassification || head == ModelHead::kTokenClassification;
}

// Something in the model's files that a user should know and that the numbers do not show.
struct ModelNote {
  Note note;
  std::size_t beyond = 0;  // applies only to inputs with more tokens than this
};

// The file that says how text should be generated from the model; model/generation_rules.h reads it.
struct GenerationDefaults {
  std::string text;  // a JSON object; empty if there is none
  std::string file;  // the file's name, for messages
};

// The target that an encoder-decoder's decoder writes. Target tokens follow the source tokens in one sequence. Layers
// are counted as they run: the encoder's layers, then two for each decoder layer, attention to the target followed by
// attention to the source. In a layer that does not apply to a token, the token attends only to itself.
struct TargetInfo {
  std::vector<std::int64_t> begin;  // ids that precede the first generated token; at least one
  std::size_t max_tokens = 0;       // maximum number of positions in the target
  std::size_t encoder_layers = 0;
  std::size_t decoder_layers = 0;
};

struct ModelInfo {
  std::string name;          // the name of the folder
  std::string architecture;  // config.json's model_type: "bert", "roberta", ...
  std::size_t layers = 0;
  // Query heads, i.e. attention matrices per layer: the same in all layers, or the model does not load. A GGUF header
  // whose layers differ is described by its first layer's number.
  std::size_t heads = 0;
  std::size_t key_value_heads = 0;  // smaller than heads if heads share keys and values; 0: same as heads
  std::size_t hidden = 0;
  std::size_t vocabulary = 0;  // rows of the word embedding; 0 for an image model
  // For text, the number of positions that the model can address (for RoBERTa, without its padding offset). For images,
  // the number of tokens at the training size; other sizes are addressed by interpolation and may have more tokens.
  std::size_t max_tokens = 0;
  bool causal = false;
  bool norms_after = false;  // layer norms follow their blocks (BERT) instead of preceding them (GPT-2, Llama, ViT)
  ModelHead head = ModelHead::kNone;   // the head whose weights the files hold
  std::vector<std::string> labels;     // one name per class, for both kinds of classification
  Pooling pooling = Pooling::kMean;    // kEmbedding
  std::string unknown_embedding;       // how an embedding is made that attnflow does not compute (head is kNone)
  bool classifies_first_token = true;  // an encoder's class is read from its first token alone, not from a mean as well
  bool multi_label = false;            // classification: several classes may hold at once (problem_type in config.json)
  // For a decoder that classifies: the token that pads texts to equal length. The decoder classifies at the last token
  // that is not padding, or at the last token if this is absent.
  std::optional<std::int64_t> padding = {};
  std::size_t parameters = 0;
  std::size_t idle_parameters = 0;        // of the experts that a token does not pass
  std::optional<ImageInfo> image = {};    // set for a model that takes images; absent for a text model
  std::optional<TargetInfo> target = {};  // set for an encoder-decoder; max_tokens then limits the source
  GenerationDefaults generation = {};
  std::vector<ModelNote> notes = {};

  // Those by which a token is multiplied.
  std::size_t active_parameters() const { return parameters - idle_parameters; }

  std::vector<Note> notes_for(std::size_t tokens) const {
    std::vector<Note> found;
    for (const ModelNote& one : notes) {
      if (tokens > one.beyond) found.push_back(one.note);
    }
    return found;
  }
};

struct TextInput {
  std::vector<std::int64_t> ids;       // [n], n >= 1
  std::vector<std::int64_t> type_ids;  // [n]; empty: all 0
  std::size_t source = 0;              // for an encoder-decoder: its source's tokens, which the target's follow

  TextInput up_to(std::size_t position) const {
    const auto first = [&](const std::vector<std::int64_t>& all) {
      const std::size_t count = std::min(position + 1, all.size());
      return std::vector<std::int64_t>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    };
    return {first(ids), first(type_ids), source};
  }
};

// Input to a vision model: an image of shape [channels, height, width], normalized as the model's
// preprocessor_config.json specifies. Height and width are multiples of the patch size and may differ from the training
// size: the position embedding is interpolated as in transformers (interpolate_pos_encoding). See image_tokens().
struct PixelInput {
  Tensor<float> pixels;
};

struct ModelOutput {
  // kClassification: logits [classes]. kTokenClassification: [requested positions, classes]. kQuestionAnswering: [2,
  // n], for an answer that begins at each token and for one that ends there. kMaskedLm and kCausalLm (for the next
  // token): [requested positions, vocabulary]. kEmbedding: the embedding, [hidden]. kNone: empty.
  // attnflow/model/prediction.h gives probabilities.
  Tensor<float> logits;
};

struct RunOptions {
  // The positions whose logits to return, for heads that have logits at each position; empty: none. A decoder that
  // classifies has logits at one position: the first of these, or else the last token that is not padding. An
  // encoder-decoder has logits at the target's positions.
  std::vector<std::size_t> logit_positions;
  // Counts the tokens read so far. Only decoders report progress, because they read long text in chunks.
  ProgressFunction progress = {};
};

// The quantity to explain: one number computed from the model's logits: those of a classifier's classes, for the whole
// input or for the token at `position`; of the tokens at which an answer may begin; of the token that follows
// `position` in a decoder; or of the token at `position` in a masked language model. The numbers of an embedding take
// the place of logits.
struct ScoreTarget {
  enum class Kind {
    kLogit,                  // logit[label]
    kLogitDifference,        // logit[label] - mean of logit[others]
    kLogitAgainstRest,       // logit[label] - mean of all other logits
    kProbability,            // softmax(logits)[label]
    kProbabilityDifference,  // softmax(logits)[label] - mean of softmax(logits)[others]
    kCosine,                 // embedding . direction / |embedding|: a cosine for a direction of length 1
  };
  Kind kind = Kind::kProbability;
  std::size_t label = 0;                 // a class, a token id, or the position of the token at which an answer begins
  std::vector<std::size_t> others = {};  // for the differences: one or more
  // Absent: the last token or, in a decoder that classifies, the last one that is not padding. Must be absent for
  // answers, embeddings, and an encoder's class of the whole input.
  std::optional<std::size_t> position = {};
  std::vector<float> direction = {};  // kCosine: [hidden]

  bool has_others() const { return kind == Kind::kLogitDifference || kind == Kind::kProbabilityDifference; }
};

// How a gradient is propagated back through a model.
enum class BackwardRule : std::uint8_t {
  kGradient,  // the derivative
  // AttnLRP (Achtibat et al., ICML 2024), expressed as the gradient of a modified model: a norm's scale is a constant
  // (as is the length by which a cosine divides),
  // each factor in a product of two activations (query times key, attention times value, gate times input) gets half,
  // and a gating function f(z) is z times the constant f(z) / z. Softmax is differentiated as usual. Input times this
  // gradient is the relevance of the input.
  kAttnLrp,
};

// The value of a target and its gradient with respect to the embedding module's output, which is the input to the first
// layer: after the module's layer norm, if any, and before the projection to the hidden size, if any.
struct InputGradient {
  double value = 0.0;
  Tensor<float> embedding;  // [n, width]
  Tensor<float> gradient;   // [n, width]: d value / d embedding
};

struct BatchOptions {
  std::size_t max_tokens = 4096;  // limit for one padded batch, padding included; a single sequence may exceed it
  BackwardRule rule = BackwardRule::kGradient;  // for gradients
  // [n, width] per input: where to take the gradients; empty: at its embedding. Only if Gradients::takes_embeddings().
  std::span<const Tensor<float>> embeddings = {};
  ProgressFunction progress = {};  // in sequences
  std::stop_token stop_token = {};
};

// Properties common to all models. A model's capabilities depend on its input and are expressed by its type:
//
//   Model                  info()
//   +- TextModel           takes text: run()
//   |  +- Encoder          tokens see one another: classify()
//   |  +- Decoder          a token sees those before it: append(), replay (attnflow/model/decoder.h); this includes
//   |                      decoders that classify text, and encoder-decoders, which append to a source
//   +- VisionModel         takes an image: run(), classify()
//
// Capabilities that only some backends offer are returned as an object, or null: gradients().
class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;
};

// Gradients of a target. Functions throw as run() does, Error(kUsage) for a target with a label or position that the
// model or the input does not have, and Error(kUnsupportedModel) for a model without a head.
template <typename Input>
class Gradients {
 public:
  virtual ~Gradients() = default;

  // Returns the gradient of targets[i] for inputs[i], in order. Batches, reproducibility and errors are as for
  // classify(). Throws Error(kUsage) if the numbers of targets and inputs differ.
  virtual std::vector<InputGradient> input_gradients(std::span<const Input> inputs,
                                                     std::span<const ScoreTarget> targets,
                                                     const BatchOptions& options = {}) = 0;

  // Whether input_gradients() uses BatchOptions::embeddings.
  virtual bool takes_embeddings() const { return false; }

  // Opens what the first call would open. Throws Error(kUnsupportedModel) if there are no gradients for this model.
  virtual void prepare() {}

  // Runs one input forward and backward, and passes each layer's attention to `sink` with the gradient of `target`
  // under `rule`, from the top layer down. The forward pass keeps each layer's input and the backward pass recomputes
  // the layer, so memory is O(L n d + H n^2), the latter for one layer at a time. Results are bitwise reproducible for
  // the same input, regardless of the number of threads.
  virtual void attention_gradients(const Input& input, const ScoreTarget& target, AttentionGradientSink& sink,
                                   BackwardRule rule = BackwardRule::kGradient) = 0;

  // The same for several targets of a text in which a token depends on those before it alone: targets[k], whose
  // position is given, gets what it would get for the text up to there, and its layers go to sinks[k]. A backend that
  // shares the passes among targets computes the same up to rounding. Uses the rule, progress (in targets) and
  // stop_token of `options`. Throws Cancelled.
  virtual void attention_gradients_of_each(const Input& input, std::span<const ScoreTarget> targets,
                                           std::span<AttentionGradientSink* const> sinks, const BatchOptions& options) {
    if constexpr (std::is_same_v<Input, TextInput>) {
      for (std::size_t k = 0; k < targets.size(); ++k) {
        if (options.stop_token.stop_requested()) throw Cancelled();
        attention_gradients(input.up_to(targets[k].position.value()), targets[k], *sinks[k], options.rule);
        if (options.progress) options.progress(k + 1, targets.size());
      }
    }
  }
};

template <typename Input>
class ModelOf : public Model {
 public:
  // Runs one sequence, without padding or mask. Attention goes to `sink` (may be null) layer by layer, as it is
  // computed. Results are bitwise reproducible for the same input, regardless of the number of threads. Throws
  // Error(kUsage) for an empty input, a logit position outside it, or an image size that does not fit the model's
  // patches; Error(kInputTooLong) when a text exceeds info().max_tokens; Error(kBadFile) for an id outside the
  // vocabulary.
  virtual ModelOutput run(const Input& input, AttentionSink* sink, const RunOptions& options = {}) = 0;

  // Whether the backend calls AttentionSink::terms() for a sink that requests them.
  virtual bool has_terms() const { return true; }

  // Returns null for a model without gradients; gradients_of() reports that as an error. A GGUF model loaded through
  // ModelFiles has them: they come from its dequantized weights (gguf_decoder.h).
  virtual Gradients<Input>* gradients() { return nullptr; }
};

// Returns model.gradients(), or throws Error(kUnsupportedModel) if there are none.
template <typename Input>
Gradients<Input>& gradients_of(ModelOf<Input>& model) {
  if (Gradients<Input>* const found = model.gradients()) return *found;
  throw Error(ErrorKind::kUnsupportedModel,
              "expected a model that has gradients (a Hugging Face folder, run by libtorch), found " +
                  model.info().name +
                  ", whose backend computes none; write the weights of a GGUF file as such a folder (attnflow model "
                  "FILE.gguf -o FOLDER) and use that, or choose what needs no gradients");
}

template <typename Input>
class Classifier {
 public:
  virtual ~Classifier() = default;

  // Returns the logits of many inputs, [classes] each, or embeddings, in order: as run(), up to float32 rounding. Texts
  // of similar length are padded into one batch, with padding masked. Images of the same size form a batch. Batches are
  // distributed over the threads. Results are bitwise reproducible for the same inputs, regardless of the number of
  // threads. Throws as run() does, and Error(kUnsupportedModel) for a model that predicts neither.
  virtual std::vector<Tensor<float>> classify(std::span<const Input> inputs, const BatchOptions& options = {}) = 0;
};

class Encoder;
class Decoder;

// Takes the logits of input i of several, [classes] or [vocabulary], which are valid during the call.
using TakeLogits = std::function<void(std::size_t i, std::span<const float> logits)>;

class TextModel : public ModelOf<TextInput> {
 public:
  // Passes `take` the logits of each input, once and in any order: those at `position`, those of the class of the whole
  // input or its embedding, or those of the token at which an answer begins. The same as run(), up to float32 rounding
  // where a backend runs several inputs at a time. A decoder's sequence is lost. Progress is in inputs. Throws as run()
  // does; Cancelled.
  virtual void logits_of_each(std::span<const TextInput> inputs, std::optional<std::size_t> position,
                              const BatchOptions& options, const TakeLogits& take);

  // Returns this model as an encoder or a decoder, or null if it is not one.
  virtual Encoder* encoder() { return nullptr; }
  virtual Decoder* decoder() { return nullptr; }
};

class Encoder : public TextModel, public Classifier<TextInput> {
 public:
  Encoder* encoder() final { return this; }
  // Classes and embeddings of the whole input are predicted in batches.
  void logits_of_each(std::span<const TextInput> inputs, std::optional<std::size_t> position,
                      const BatchOptions& options, const TakeLogits& take) override;
};

class VisionModel : public ModelOf<PixelInput>, public Classifier<PixelInput> {};

struct OpenOptions {
  // Ignores tensors that config.json has no place for, such as layers beyond its number of layers.
  bool allow_unused_weights = false;
};

struct LoadOptions {
  std::string device = "cpu";  // cpu, or cuda[:N] if the backend supports it
  std::size_t threads = 0;     // 0: one per hardware thread; for GGUF models, at most one per idle processor
  std::size_t context = 0;     // decoders: positions to reserve room for; 0: grows with the sequence
  bool copy_weights = false;   // load into memory, so that the files may change during the model's lifetime
};

}  // namespace attnflow
