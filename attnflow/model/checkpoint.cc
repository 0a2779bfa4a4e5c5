#include "attnflow/model/checkpoint.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/lora.h"

namespace attnflow {

namespace {

using internal::fail;
using internal::quote_name;
using internal::quote_names;

constexpr std::size_t kMaxIndexBytes = std::size_t{64} << 20;
constexpr const char* kSafetensors = "model.safetensors";
constexpr const char* kPytorch = "pytorch_model.bin";
constexpr std::string_view kIndexEnding = ".index.json";

[[noreturn]] void fail_without_weights(const Folder& folder) {
  const bool others = folder.has("tf_model.h5") || folder.has("flax_model.msgpack");
  fail(ErrorKind::kBadFile, "{}: expected {}, or {}{} and its shards, found neither, nor {}{}", folder.label(),
       kSafetensors, kSafetensors, kIndexEnding, kPytorch,
       others ? "; found weights in another format, which is not read. Convert them once with transformers: load the "
                "model with from_pretrained and save it with save_pretrained"
              : "");
}

// Parses {"weight_map": {tensor: file}}. A shard is a plain file name: an index cannot reach outside its folder.
std::map<std::string, std::string> read_weight_map(const Folder& folder, const std::string& file) {
  const std::string index = folder.label(file);
  const nlohmann::json json = internal::parse_json_object(folder.read(file, kMaxIndexBytes), index);
  const auto found = json.find("weight_map");
  if (found == json.end() || !found->is_object() || found->empty()) {
    fail(ErrorKind::kBadFile, "{}: expected an object \"weight_map\" from tensor names to file names, found {}", index,
         found == json.end() ? "none" : internal::show_json(*found));
  }
  std::map<std::string, std::string> map;
  for (const auto& [tensor, shard] : found->items()) {
    const std::string name = shard.is_string() ? shard.get<std::string>() : "";
    if (name.empty() || name == "." || name == ".." || name.find_first_of(std::string_view("/\\\0", 3)) != name.npos) {
      fail(ErrorKind::kBadFile, "{}: expected the name of a file in the same folder as the shard of {}, found {}",
           index, quote_name(tensor), internal::show_json(shard));
    }
    map.emplace(tensor, name);
  }
  return map;
}

}  // namespace

Checkpoint::Checkpoint(const Folder& folder) {
  open_files(folder);
  if (const std::optional<Folder> adapter = internal::adapter_folder(folder)) {
    adapter_ = std::make_shared<internal::LoraAdapter>(*adapter);
    adapter_->add_to(tensors_, source_);
  }
}

void Checkpoint::open_files(const Folder& folder) {
  for (const std::string single : {kSafetensors, kPytorch}) {
    if (folder.has(single)) {
      source_ = folder.label(single);
      add_file(folder, single);
      return;
    }
    const std::string index = single + std::string(kIndexEnding);
    if (folder.has(index)) {
      source_ = folder.label(index);
      open_shards(folder, index);
      return;
    }
  }
  fail_without_weights(folder);
}

void Checkpoint::add_file(const Folder& folder, const std::string& name) {
  if (name.ends_with(".bin")) {
    add(pytorch_files_.emplace_back(folder.open_pytorch(name)).entries(), folder.label(name));
  } else {
    add(files_.emplace_back(folder.open_safetensors(name)).entries(), folder.label(name));
  }
}

void Checkpoint::add(const std::map<std::string, SafetensorsFile::Entry, std::less<>>& entries,
                     const std::string& file) {
  for (const auto& [tensor, entry] : entries) {
    const auto [place, added] =
        tensors_.try_emplace(tensor, StoredTensor{tensor, entry.dtype, entry.shape, entry.bytes, file});
    if (!added) {
      fail(ErrorKind::kBadFile, "{}: expected tensor {} once, found it in {} too", file, quote_name(tensor),
           place->second.file);
    }
  }
}

void Checkpoint::open_shards(const Folder& folder, const std::string& index) {
  const std::map<std::string, std::string> weight_map = read_weight_map(folder, index);
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : weight_map) shards.insert(shard);

  std::vector<std::string_view> missing;
  for (const std::string& shard : shards) {
    if (!folder.has(shard)) missing.push_back(shard);
  }
  if (!missing.empty()) {
    fail(ErrorKind::kBadFile, "{}: expected {} shards in the same folder, {} missing: {}. Fetch all files of the model",
         source_, shards.size(), missing.size() == 1 ? "1 is" : fmt::format("{} are", missing.size()),
         quote_names(missing));
  }

  for (const std::string& shard : shards) add_file(folder, shard);
  for (const auto& [tensor, shard] : weight_map) {
    const StoredTensor* stored = find(tensor);
    if (stored == nullptr || stored->file != folder.label(shard)) {
      fail(ErrorKind::kBadFile,
           "{}: expected tensor {} in {}, which does not hold it. Fetch all files of the model again", source_,
           quote_name(tensor), quote_name(shard));
    }
  }
}

bool is_floating_point(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 || dtype == DType::kF64;
}

const StoredTensor* Checkpoint::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::size_t Checkpoint::parameters() const {
  std::size_t count = 0;
  std::set<std::pair<const std::byte*, std::size_t>> counted;
  for (const auto& [name, tensor] : tensors_) {
    if (!is_floating_point(tensor.dtype)) continue;
    const bool shared = !tensor.bytes.empty() && !counted.emplace(tensor.bytes.data(), tensor.bytes.size()).second;
    if (!shared) count += element_count(tensor.shape);
  }
  return count;
}

}  // namespace attnflow
