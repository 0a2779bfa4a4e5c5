// What a model is, and how it is run. How one is found and loaded: attnflow/model/model_files.h.
#ifndef ATTNFLOW_MODEL_MODEL_H_
#define ATTNFLOW_MODEL_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/base/error.h"
#include "attnflow/base/progress.h"
#include "attnflow/graph/attention_gradient_sink.h"
#include "attnflow/graph/attention_sink.h"
#include "attnflow/model/image_info.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// What a model predicts: the token at a mask, a class of the whole input, a class of each token, where an answer begins
// and ends, the token that follows.
enum class ModelHead { kNone, kMaskedLm, kClassification, kTokenClassification, kQuestionAnswering, kCausalLm };

// Are its logits of classes, and not of tokens?
constexpr bool predicts_classes(ModelHead head) {
  return head == ModelHead::kClassification || head == ModelHead::kTokenClassification;
}

// What a user should know beside the numbers: something lies in the model's files that these do not show.
struct ModelNote {
  Note note;
  std::size_t beyond = 0;  // it concerns inputs of more tokens than this
};

// The file that says how a model's texts are meant to be chosen: model/generation_rules.h reads it.
struct GenerationDefaults {
  std::string text;  // a JSON object; empty: there is none
  std::string file;  // its name, for messages
};

// Of an encoder-decoder: the target that its decoder writes. Its tokens stand behind those of the source in one
// sequence, and its layers count in the order in which they run: the encoder's, then two for each of the decoder's,
// attention to the target and then to the source. In a layer that is not theirs tokens attend to themselves alone.
struct TargetInfo {
  std::vector<std::int64_t> begin;  // ids that it begins with, before the first that is chosen: at least one
  std::size_t max_tokens = 0;       // positions that it may have
  std::size_t encoder_layers = 0;
  std::size_t decoder_layers = 0;
};

struct ModelInfo {
  std::string name;          // the folder's name
  std::string architecture;  // config.json's model_type: "bert", "roberta", ...
  std::size_t layers = 0;
  std::size_t heads = 0;            // of the queries: attention matrices in a layer; where layers differ, the fewest
  std::size_t key_value_heads = 0;  // fewer where heads share keys and values; 0: as many as heads
  std::size_t hidden = 0;
  std::size_t vocabulary = 0;  // rows of the word embedding; 0: takes pictures
  // Text: positions that the model can address (RoBERTa: without its padding offset). Pictures: the tokens of one of
  // the size that the model was trained on; others are addressed by interpolation and may have more.
  std::size_t max_tokens = 0;
  bool causal = false;
  bool norms_after = false;           // layer norms come after their blocks (BERT), not before (GPT-2, Llama, ViT)
  ModelHead head = ModelHead::kNone;  // which head's weights the files hold
  std::vector<std::string> labels;    // of both kinds of classification: a name for each class
  bool multi_label = false;           // classification: several classes may hold at once (problem_type in config.json)
  // Of a decoder that classifies: it does so at the last token that is another than this one, by which texts are made
  // equally long; absent: at the last token.
  std::optional<std::int64_t> padding = {};
  std::size_t parameters = 0;
  std::optional<ImageInfo> image = {};    // of a model that takes pictures; absent: it takes text
  std::optional<TargetInfo> target = {};  // of an encoder-decoder; max_tokens is then that of a source
  GenerationDefaults generation = {};
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

// What a model of text is given.
struct TextInput {
  std::vector<std::int64_t> ids;       // [n], n >= 1
  std::vector<std::int64_t> type_ids;  // [n], or empty: all 0
};

// What a vision model is given: an image as [channels, height, width], normalised as the model's
// preprocessor_config.json says. Height and width are multiples of the patch, not always those of the training: the
// position embedding is interpolated as transformers does it (interpolate_pos_encoding). The tokens are those of
// image_tokens().
struct PixelInput {
  Tensor<float> pixels;
};

struct ModelOutput {
  // kClassification: logits [classes]. kTokenClassification: [positions asked for, classes]. kQuestionAnswering: [2,
  // n], of an answer that begins with each token, and of one that ends with it. kMaskedLm and kCausalLm (of the token
  // that follows): [positions asked for, vocabulary]. kNone: empty. attnflow/model/prediction.h turns them into
  // probabilities.
  Tensor<float> logits;
};

struct RunOptions {
  // Whose logits are wanted, of heads that have some for each position. Of a decoder that classifies: where it does so,
  // in the place of the last token that is not padding.
  std::vector<std::size_t> logit_positions;
  // Counts the tokens read so far; only decoders report it, because they read a long text in chunks.
  ProgressFunction progress = {};
};

// What is explained of a model's output: one number that follows from its logits. They are those of a classifier's
// classes, of the whole input or of the token at `position`; of the tokens with which an answer may begin; of the token
// that follows `position` in a decoder; of the token at `position` in a masked language model.
struct ScoreTarget {
  enum class Kind {
    kLogit,                  // logit[label]
    kLogitDifference,        // logit[label] - logit[other]
    kLogitAgainstRest,       // logit[label] - mean of all other logits
    kProbability,            // softmax(logits)[label]
    kProbabilityDifference,  // softmax(logits)[label] - softmax(logits)[other]
  };
  Kind kind = Kind::kProbability;
  std::size_t label = 0;  // a class, a token's id, or the position of the token with which an answer begins
  std::size_t other = 0;
  std::optional<std::size_t> position = {};  // absent: the last; encoders' classes of the whole input and answers: none

  bool has_other() const { return kind == Kind::kLogitDifference || kind == Kind::kProbabilityDifference; }
};

// How a gradient is taken back through a model.
enum class BackwardRule : std::uint8_t {
  kGradient,  // the derivative
  // AttnLRP (Achtibat et al., ICML 2024), as a gradient of a model in which a norm's scale is a constant, each side of
  // a product of two activations gets half (query times key, attention times value, gate times input), and a gating
  // function f(z) is z times the constant f(z) / z. Softmax is differentiated as it is. Input times this gradient is
  // the input's relevance.
  kAttnLrp,
};

// A target's value and its gradient with respect to what the embedding module hands to the first layer: after its layer
// norm where it has one, before the projection to the hidden size where there is one.
struct InputGradient {
  double value = 0.0;
  Tensor<float> embedding;  // [n, width]
  Tensor<float> gradient;   // [n, width]: d value / d embedding
};

struct BatchOptions {
  std::size_t max_tokens = 4096;                // of one padded batch, padding counted; one sequence may be longer
  BackwardRule rule = BackwardRule::kGradient;  // of gradients
  // Gradients are taken at these embeddings, [n, width] an input, in place of those that the embedding module hands to
  // the first layer; empty: at the input's own. Only where Gradients::takes_embeddings().
  std::span<const Tensor<float>> embeddings = {};
  ProgressFunction progress = {};  // in sequences
  std::stop_token stop_token = {};
};

// What is known of every model. What it can do depends on what it takes, and says so by its type:
//
//   Model                  info()
//   +- TextModel           takes a text: run()
//   |  +- Encoder          tokens see one another: classify()
//   |  +- Decoder          a token sees those before it: append(), replay (attnflow/model/decoder.h); also those that
//   |                      classify a text, and the encoder-decoders, which append to a source
//   +- VisionModel         takes an image: run(), classify()
//
// What only some models of a kind can do, because of their backend, they hand out as an object, or null: gradients().
class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;
};

// Gradients of a target. They throw as run() does, and Error(kUsage) for a target that names a label or a position
// which the model or the input does not have; Error(kUnsupportedModel) for a model without a head.
template <typename Input>
class Gradients {
 public:
  virtual ~Gradients() = default;

  // The gradient of targets[i] for inputs[i], in the order given; batches, bits and errors as classify() has them.
  // Error(kUsage) for another number of targets than inputs.
  virtual std::vector<InputGradient> input_gradients(std::span<const Input> inputs,
                                                     std::span<const ScoreTarget> targets,
                                                     const BatchOptions& options = {}) = 0;

  // Whether input_gradients() heeds BatchOptions::embeddings.
  virtual bool takes_embeddings() const { return false; }

  // What the first call has to write out and keep, in bytes: weights in another form. 0: nothing.
  virtual std::size_t preparation_bytes() const { return 0; }
  // Does that now, once. Throws where it cannot be done: Error(kUnsupportedModel), Error(kOther).
  virtual void prepare() {}

  // Runs one input, forward and back, and hands the attention of every layer to `sink` with the gradient of `target`
  // by `rule`, from the top layer down. What a layer was given is kept on the way up and the layer is computed once
  // more on the way down, so memory is O(L n d + H n^2), of one layer at a time. Same input, same bits, whatever the
  // number of threads.
  virtual void attention_gradients(const Input& input, const ScoreTarget& target, AttentionGradientSink& sink,
                                   BackwardRule rule = BackwardRule::kGradient) = 0;
};

template <typename Input>
class ModelOf : public Model {
 public:
  // Runs one sequence; attention goes to `sink` (may be null) layer by layer, as it is computed. No padding, so no
  // mask. Same input, same bits, whatever the number of threads. Throws Error(kUsage) for an empty input, a logit
  // position outside it, or an image that the model's patches do not fit; Error(kInputTooLong) when a text exceeds
  // info().max_tokens, Error(kBadFile) when an id is outside the vocabulary.
  virtual ModelOutput run(const Input& input, AttentionSink* sink, const RunOptions& options = {}) = 0;

  // Whether the backend calls AttentionSink::terms() for a sink that wants them.
  virtual bool has_terms() const { return true; }

  // Null where the backend computes none, as llama.cpp does not; gradients_of() says so.
  virtual Gradients<Input>* gradients() { return nullptr; }
};

// model.gradients(), or Error(kUnsupportedModel) where there are none.
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

  // The logits of many inputs, [classes] each, in the order given: what run() gives, up to the rounding of float32.
  // Texts of about the same length are padded to one batch; padding is masked, so it changes nothing. Images of the
  // same size make a batch. Batches are shared out among the threads. Same inputs, same bits, whatever the number of
  // threads. Throws as run() does, and Error(kUnsupportedModel) for a model without a classification head.
  virtual std::vector<Tensor<float>> classify(std::span<const Input> inputs, const BatchOptions& options = {}) = 0;
};

class Encoder;
class Decoder;

class TextModel : public ModelOf<TextInput> {
 public:
  // The same model, where it is an encoder, or a decoder; else null.
  virtual Encoder* encoder() { return nullptr; }
  virtual Decoder* decoder() { return nullptr; }
};

class Encoder : public TextModel, public Classifier<TextInput> {
 public:
  Encoder* encoder() final { return this; }
};

class VisionModel : public ModelOf<PixelInput>, public Classifier<PixelInput> {};

struct OpenOptions {
  // Leave out tensors that config.json has no place for, such as layers beyond its number of layers.
  bool allow_unused_weights = false;
};

struct LoadOptions {
  std::string device = "cpu";  // cpu, or cuda[:N] where the backend has it
  std::size_t threads = 0;     // 0: one per hardware thread; GGUF models: at most one per idle processor
  std::size_t context = 0;     // decoders: positions to make room for; 0: as many as a sequence turns out to need
  bool copy_weights = false;   // into memory, so that the files may change while the model lives
};

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_MODEL_H_
