#include "attnflow/model/checkpoint.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"

namespace attnflow {

namespace {

using internal::quote_name;
using internal::quote_names;

constexpr std::size_t kMaxIndexBytes = std::size_t{64} << 20;
constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorKind::kBadFile, message); }

[[noreturn]] void fail_without_weights(const Folder& folder) {
  std::string message =
      fmt::format("{}: expected {}, or {} and its shards, found neither", folder.label(), kSingle, kIndex);
  if (folder.has("pytorch_model.bin")) {
    message +=
        "; found pytorch_model.bin, a pickle file, which is not read because reading a pickle can run code. "
        "Convert it once, in that folder: python3 -c \"import torch, safetensors.torch as s; "
        "w = torch.load('pytorch_model.bin', map_location='cpu', weights_only=True); "
        "s.save_file({k: v.clone().contiguous() for k, v in w.items()}, 'model.safetensors')\"";
  } else if (folder.has("pytorch_model.bin.index.json") || folder.has("tf_model.h5")) {
    message +=
        "; found weights in another format, which is not read. Convert them once with transformers: load the model "
        "with from_pretrained and save it with save_pretrained";
  }
  fail(message);
}

// {"weight_map": {tensor: file}}, checked: a shard is a plain file name, so an index cannot reach outside its folder.
std::map<std::string, std::string> read_weight_map(const Folder& folder) {
  const std::string index = folder.label(kIndex);
  const nlohmann::json json = internal::parse_json_object(folder.read(kIndex, kMaxIndexBytes), index);
  const auto found = json.find("weight_map");
  if (found == json.end() || !found->is_object() || found->empty()) {
    fail(index + ": expected an object \"weight_map\" from tensor names to file names, found " +
         (found == json.end() ? "none" : internal::show_json(*found)));
  }
  std::map<std::string, std::string> map;
  for (const auto& [tensor, shard] : found->items()) {
    const std::string name = shard.is_string() ? shard.get<std::string>() : "";
    if (name.empty() || name == "." || name == ".." || name.find_first_of(std::string_view("/\\\0", 3)) != name.npos) {
      fail(fmt::format("{}: expected the name of a file in the same folder as the shard of {}, found {}", index,
                       quote_name(tensor), internal::show_json(shard)));
    }
    map.emplace(tensor, name);
  }
  return map;
}

bool is_floating_point(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 || dtype == DType::kF64;
}

}  // namespace

Checkpoint::Checkpoint(const Folder& folder) {
  if (folder.has(kSingle)) {
    source_ = folder.label(kSingle);
    add_file(folder, kSingle);
  } else if (folder.has(kIndex)) {
    source_ = folder.label(kIndex);
    open_shards(folder);
  } else {
    fail_without_weights(folder);
  }
}

void Checkpoint::add_file(const Folder& folder, const std::string& name) {
  const SafetensorsFile& file = files_.emplace_back(folder.open_safetensors(name));
  const std::string label = folder.label(name);
  for (const auto& [tensor, entry] : file.entries()) {
    const auto [place, added] =
        tensors_.try_emplace(tensor, StoredTensor{tensor, entry.dtype, entry.shape, entry.bytes, label});
    if (!added) {
      fail(fmt::format("{}: expected tensor {} once, found it in {} too", label, quote_name(tensor),
                       place->second.file));
    }
  }
}

void Checkpoint::open_shards(const Folder& folder) {
  const std::map<std::string, std::string> weight_map = read_weight_map(folder);
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : weight_map) shards.insert(shard);

  std::vector<std::string_view> missing;
  for (const std::string& shard : shards) {
    if (!folder.has(shard)) missing.push_back(shard);
  }
  if (!missing.empty()) {
    fail(fmt::format("{}: expected {} shards in the same folder, {} missing: {}. Fetch all files of the model", source_,
                     shards.size(), missing.size() == 1 ? "1 is" : fmt::format("{} are", missing.size()),
                     quote_names(missing)));
  }

  for (const std::string& shard : shards) add_file(folder, shard);
  for (const auto& [tensor, shard] : weight_map) {
    const StoredTensor* stored = find(tensor);
    if (stored == nullptr || stored->file != folder.label(shard)) {
      fail(fmt::format("{}: expected tensor {} in {}, which does not hold it. Fetch all files of the model again",
                       source_, quote_name(tensor), quote_name(shard)));
    }
  }
}

const StoredTensor* Checkpoint::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::size_t Checkpoint::parameters() const {
  std::size_t count = 0;
  for (const auto& [name, tensor] : tensors_) {
    if (is_floating_point(tensor.dtype)) count += element_count(tensor.shape);
  }
  return count;
}

}  // namespace attnflow
