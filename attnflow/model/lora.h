// Merges a LoRA adapter into the weights of its base model, as peft's merge_and_unload does.
//
// An adapter folder holds adapter_config.json and adapter_model.safetensors or adapter_model.bin. For some of the
// model's maps W [out, in] it has A [r, in] and B [out, r]; the adapted map is W + s B A with s = alpha / r, or alpha /
// sqrt(r) with use_rslora. Maps that are stored transposed, such as GPT-2's, take the transposed product. Tensors
// without A and B replace the model's own ("modules_to_save", usually classifiers).
//
// References:
//   LoRA: Low-Rank Adaptation of Large Language Models, Hu et al., 2021; rsLoRA: Kalajdzievski, 2023
//   The names and settings: peft/utils/save_and_load.py, peft/tuners/lora/config.py
#pragma once

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

// The settings in adapter_config.json that determine the sum.
struct LoraConfig {
  std::size_t rank = 0;
  double scale = 1.0;           // s
  bool fan_in_fan_out = false;  // maps are stored [in, out]; decides for square maps, whose shape does not show it
};

// Throws Error(kUnsupportedModel), naming the setting, for another kind of adapter or another computation (DoRA,
// trained biases, other scales for some maps...); Error(kBadFile) for values of the wrong type.
LoraConfig parse_lora_config(std::string_view text, const std::string& source);

class LoraAdapter {
 public:
  using Tensors = std::map<std::string, StoredTensor, std::less<>>;

  // Opens the adapter in `folder`. Throws as parse_lora_config() and the weight readers do.
  explicit LoraAdapter(const Folder& folder);

  // Replaces adapted maps in `tensors` with their sums, which this object holds as float32. Tensors without A and B
  // replace those of the same name, or are added if there is none. Messages call the tensors `source`. Throws
  // Error(kBadFile) for an adapted map that is not in `tensors` or has another shape, and Error(kUnsupportedModel) for
  // one that shares its numbers with another tensor or does not hold floating-point numbers, and for replaced
  // embeddings that the output may share.
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
  std::map<std::string, Factors> factors_;      // by name of the map
  std::map<std::string, const Entry*> wholes_;  // by name of the tensor
  std::deque<std::vector<float>> sums_;
};

// Returns the folder of the adapter attached to `folder` or in it. Nothing if there is none, or only its configuration.
std::optional<Folder> adapter_folder(const Folder& folder);

}  // namespace attnflow::internal

namespace attnflow {

// The contents of adapter_config.json apart from the computation.
struct Adapter {
  std::string base;  // the model that it adapts, as named there; empty if not given
  std::string task;  // its task, such as "SEQ_CLS"; empty if not given
};

// Returns the adapter in `folder`, or nothing. Throws Error(kBadFile) if adapter_config.json is not a JSON object.
std::optional<Adapter> find_adapter(const Folder& folder);

// Returns notes for a model's folder: that an adapter is merged or, if it has no tensors, is not.
std::vector<ModelNote> adapter_notes(const Folder& folder);

}  // namespace attnflow
