// What a model is, and how it is run. Backends are shared objects that are loaded when a model needs them.
#ifndef ATTNFLOW_MODEL_MODEL_H_
#define ATTNFLOW_MODEL_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attnflow/graph/attention_sink.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

enum class ModelHead { kNone, kMaskedLm, kClassification };

struct ModelInfo {
  std::string name;          // the folder's name
  std::string architecture;  // config.json's model_type: "bert", "roberta", "distilbert", "albert"
  std::size_t layers = 0;
  std::size_t heads = 0;
  std::size_t hidden = 0;
  std::size_t vocabulary = 0;  // rows of the word embedding
  std::size_t max_tokens = 0;  // positions that the model can address (RoBERTa: without its padding offset)
  bool causal = false;
  ModelHead head = ModelHead::kNone;  // which head's weights the files hold
  std::vector<std::string> labels;    // classification: a name for each class
  bool multi_label = false;           // classification: several classes may hold at once (problem_type in config.json)
  std::size_t parameters = 0;
};

struct ModelInput {
  std::vector<std::int64_t> ids;       // [n], n >= 1
  std::vector<std::int64_t> type_ids;  // [n], or empty: all 0
};

struct ModelOutput {
  // kClassification: logits [classes]. kMaskedLm: logits [positions asked for, vocabulary]. kNone: empty.
  // attnflow/model/prediction.h turns them into probabilities.
  Tensor<float> logits;
};

struct RunOptions {
  std::vector<std::size_t> logit_positions;  // kMaskedLm: positions whose logits are wanted
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;
  // Runs one sequence; attention goes to `sink` (may be null) layer by layer, as it is computed. No padding, so no
  // mask. Same input, same bits, whatever the number of threads. Throws Error(kUsage) for an empty input or a logit
  // position outside it, Error(kInputTooLong) when n exceeds info().max_tokens, Error(kBadFile) when an id is outside
  // the vocabulary.
  virtual ModelOutput run(const ModelInput& input, AttentionSink* sink, const RunOptions& options = {}) = 0;
};

struct LoadOptions {
  std::string device = "cpu";  // cpu, or cuda[:N] where the backend has it
  std::size_t threads = 0;     // 0: one per hardware thread
};

// Loads a Hugging Face folder (config.json and model.safetensors, or model.safetensors.index.json and its shards).
// Weights are mapped, not copied, where the backend can use them as they are: the files must not change while the model
// lives. Throws Error(kBadFile) for missing or damaged files, Error(kUnsupportedModel) for an architecture that no
// backend runs or when the backend is not installed (attnflow/model/backend.h says where it is looked for),
// Error(kUsage) for a device that is not there.
std::unique_ptr<Model> load_model(const std::filesystem::path& path, const LoadOptions& options = {});

// Reads config.json and the headers of the weight files only, and checks them: no backend is loaded, no weights are
// read.
ModelInfo read_model_info(const std::filesystem::path& path);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_MODEL_H_
