// Adding a LoRA adapter to the weights of the model that it changes, as peft's merge_and_unload does.
//
// An adapter folder holds adapter_config.json and adapter_model.safetensors, or adapter_model.bin. For some of the
// model's maps W [out, in] it has A [r, in] and B [out, r]; the adapted map is W + s B A with s = alpha / r, or
// alpha / sqrt(r) with use_rslora. Maps that are stored transposed, as GPT-2's, take the transposed product. Tensors
// without A and B stand in place of the model's ("modules_to_save": classifiers, mostly).
//
// References:
//   LoRA: Low-Rank Adaptation of Large Language Models, Hu et al., 2021; rsLoRA: Kalajdzievski, 2023
//   The names and settings: peft/utils/save_and_load.py, peft/tuners/lora/config.py
#ifndef ATTNFLOW_MODEL_LORA_H_
#define ATTNFLOW_MODEL_LORA_H_

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/files/pytorch_file.h"
#include "attnflow/files/safetensors.h"
#include "attnflow/model/checkpoint.h"
#include "attnflow/model/model.h"

namespace attnflow::internal {

// What adapter_config.json says of the sum.
struct LoraConfig {
  std::size_t rank = 0;
  double scale = 1.0;           // s
  bool fan_in_fan_out = false;  // maps are stored [in, out]; decides where a square one does not show it
};

// Throws Error(kUnsupportedModel) that names a setting of another kind of adapter, or one that changes what is computed
// otherwise (DoRA, trained biases, other scales for some maps...); Error(kBadFile) for values of a wrong type.
LoraConfig parse_lora_config(std::string_view text, const std::string& source);

class LoraAdapter {
 public:
  using Tensors = std::map<std::string, StoredTensor, std::less<>>;

  // Opens the adapter in `folder`. Throws as parse_lora_config and the readers of weights do.
  explicit LoraAdapter(const Folder& folder);

  // Puts sums, as float32 that this object holds, in place of `tensors`, and adds what they lack. `source` is what
  // messages call them. Throws Error(kBadFile) for a map that is not among them, or one of another shape.
  void add_to(Tensors& tensors, const std::string& source);

 private:
  using Entry = SafetensorsFile::Entry;
  struct Factors {
    const Entry* a = nullptr;
    const Entry* b = nullptr;
  };

  void sort(const std::map<std::string, Entry, std::less<>>& entries);
  void merge(const std::string& module, const Factors& factors, Tensors& tensors, const std::string& source);

  std::string config_label_;
  std::string file_;
  LoraConfig config_;
  std::optional<SafetensorsFile> safetensors_;
  std::optional<PytorchFile> pytorch_;
  std::map<std::string, Factors> factors_;      // by the name of the map
  std::map<std::string, const Entry*> wholes_;  // by the name of the tensor
  std::deque<std::vector<float>> sums_;
};

// The folder of the adapter that belongs to the weights in `folder`: the one that it was given, or itself. Nothing when
// there is none, or only its configuration.
std::optional<Folder> adapter_folder(const Folder& folder);

}  // namespace attnflow::internal

namespace attnflow {

// What adapter_config.json says besides how to compute.
struct Adapter {
  std::string base;  // the model that it changes, as it calls it; empty when it does not say
  std::string task;  // what it is for, "SEQ_CLS"; empty when it does not say
};

// The adapter that lies in `folder`, or nothing. Throws Error(kBadFile): adapter_config.json is no JSON object.
std::optional<Adapter> find_adapter(const Folder& folder);

// For a model's folder: that an adapter is in its numbers or, without tensors of its own, is not.
std::vector<ModelNote> adapter_notes(const Folder& folder);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_LORA_H_
