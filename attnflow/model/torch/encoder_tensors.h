// The weights of an encoder as libtorch tensors, and the operations that a forward pass is made of.
//
// Two programs of the same arithmetic use them: encoder.cc runs one sequence as fast as it can and hands out attention,
// batch_forward.h runs many padded sequences at once and can be differentiated.
#ifndef ATTNFLOW_MODEL_TORCH_ENCODER_TENSORS_H_
#define ATTNFLOW_MODEL_TORCH_ENCODER_TENSORS_H_

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/model/encoder_weights.h"
#include "attnflow/model/model.h"

namespace attnflow::internal {

inline std::int64_t to_signed(std::size_t size) { return static_cast<std::int64_t>(size); }

// Runs `work` and turns libtorch's own exceptions (out of memory, mostly) into ours.
template <typename Work>
auto with_torch_errors(Work work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    throw Error(ErrorKind::kOther, std::string("libtorch cannot run the model: ") + error.what_without_backtrace());
  }
}

// The device of a name that load_model has checked. Throws Error(kUsage) when this libtorch or this machine lacks it.
at::Device find_device(const std::string& name);

// Stored tensors as float32 on the device, each made once however many parts of the model share it.
class TensorSource {
 public:
  enum class Use {
    kRunning,   // float32 weights of a file are used where they lie
    kCopied,    // they are copied
    kTraining,  // copies that libtorch takes gradients of
  };
  static Use use_of(const LoadOptions& options) { return options.copy_weights ? Use::kCopied : Use::kRunning; }
  explicit TensorSource(at::Device device, Use use = Use::kRunning) : device_(device), use_(use) {}
  const at::Tensor& get(const StoredTensor& stored);
  // All that were made, by the names that they are stored under.
  std::map<std::string, at::Tensor> by_name() const;

 private:
  at::Tensor make(const StoredTensor& stored) const;

  at::Device device_;
  Use use_;
  std::map<const StoredTensor*, at::Tensor> made_;
};

struct Linear {
  Linear() = default;
  Linear(TensorSource& source, const LinearWeights& weights) : weight(source.get(*weights.weight)) {
    if (weights.bias != nullptr) bias = source.get(*weights.bias);
  }

  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out], or undefined: none
};

struct Norm {
  Norm() = default;
  Norm(TensorSource& source, const NormWeights& weights, double epsilon)
      : scale(source.get(*weights.scale)), shift(source.get(*weights.shift)), eps(epsilon) {}
  at::Tensor operator()(const at::Tensor& x) const { return at::layer_norm(x, scale.sizes(), scale, shift, eps); }

  at::Tensor scale;
  at::Tensor shift;
  double eps = 0.0;
};

struct EncoderLayer {
  EncoderLayer(TensorSource& source, const LayerWeights& weights, double eps);

  Linear query, key, value;
  Linear attention_output;
  Norm attention_norm;
  Linear feed_forward_in, feed_forward_out;
  Norm feed_forward_norm;
  at::Tensor attention_scale;     // [hidden], or undefined: none
  at::Tensor feed_forward_scale;  // likewise
};

// The embeddings of a model of pictures: image_embedding.h.
struct ImageTensors {
  ImageTensors(TensorSource& source, const ImageWeights& weights);

  at::Tensor class_token;         // [1, 1, hidden]
  at::Tensor distillation_token;  // [1, 1, hidden], or undefined
  at::Tensor register_tokens;     // [1, registers, hidden], or undefined
  Linear patches;                 // weight [hidden, channels, patch height, patch width]
  at::Tensor position;            // [1, positions, hidden]
};

struct EncoderTensors {
  EncoderTensors(TensorSource& source, const EncoderWeights& weights);

  const EncoderLayer& layer(std::size_t index) const { return layers[layer_order[index]]; }

  std::optional<ImageTensors> image;  // of a model of pictures; the embeddings below are then undefined
  at::Tensor word_embedding;
  at::Tensor position_embedding;
  at::Tensor token_type_embedding;  // undefined where there is none
  std::optional<Norm> embedding_norm;
  std::optional<Linear> embedding_projection;
  std::vector<EncoderLayer> layers;
  std::vector<std::size_t> layer_order;  // the element of `layers` that each layer of the model runs
  std::optional<Norm> final_norm;

  // Masked language model: dense, activation, norm, output. Classification: dense and activation where there is a
  // dense, output; and where there is a second, the mean of both.
  Activation head_activation = Activation::kTanh;
  Linear head_dense;
  Norm head_norm;
  Linear head_output;
  Linear head_second;
};

at::Tensor activate(const at::Tensor& x, Activation activation);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_ENCODER_TENSORS_H_
