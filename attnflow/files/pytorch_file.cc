#include "attnflow/files/pytorch_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "attnflow/base/checked_size.h"
#include "attnflow/base/error.h"
#include "attnflow/files/little_endian.h"
#include "attnflow/files/mapped_file.h"
#include "attnflow/files/messages.h"
#include "attnflow/files/pickle.h"
#include "attnflow/files/pickled_tensors.h"
#include "attnflow/files/zip_entries.h"

namespace attnflow {
namespace internal {

struct PytorchContent {
  std::map<std::string, PytorchFile::Entry, std::less<>> entries;  // `bytes` point into the file or into `copies`
  std::deque<std::vector<std::byte>> copies;                       // no more bytes in total than the file has
};

namespace {

using Bytes = std::span<const std::byte>;
using Kind = PickleValue::Kind;

constexpr std::string_view kZipStart = "PK\3\4";
constexpr char kPickleStart = '\x80';
// 0x1950a86a20f9469cfc6c
constexpr std::string_view kLegacyMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::int64_t kLegacyProtocol = 1001;
constexpr std::string_view kPickleEntry = "/data.pkl";

// A shell command that makes a .safetensors file. The file's name may come from an untrusted index.
std::string advice_for(std::string_view label) {
  std::string_view file = label.substr(label.rfind('/') + 1);
  const bool plain = !file.empty() && std::all_of(file.begin(), file.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
  if (!plain) file = "pytorch_model.bin";
  if (file.find("-of-") != std::string_view::npos) {  // a shard of a model whose index names its shards
    return "Use the model's .safetensors files where it has them, or load it with transformers and save it again with "
           "save_pretrained";
  }
  const std::string_view stem = file.substr(0, file.rfind('.'));
  return fmt::format(
      "Use the model's .safetensors files where it has them, or convert it once, in its folder, with PyTorch 2.10 or "
      "later: python3 -c \"import torch, safetensors.torch as s; w = torch.load('{}', map_location='cpu', "
      "weights_only=True); s.save_file({{k: v.clone().contiguous() for k, v in w.items()}}, '{}.safetensors')\"",
      file, stem == "pytorch_model" ? "model" : stem);
}

class PytorchReader {
 public:
  PytorchReader(Bytes file, const std::string& name) : file_(file), name_(name), advice_(advice_for(name)) {}

  PytorchContent read() {
    const std::string_view text(reinterpret_cast<const char*>(file_.data()), file_.size());
    if (text.starts_with("version https://git-lfs"))
      fail("found a Git LFS pointer instead of the file; run `git lfs pull` in the folder it came from");
    if (text.starts_with(kZipStart)) {
      read_zip();
    } else if (text.starts_with(kPickleStart)) {
      read_legacy();
    } else {
      fail(fmt::format("expected a file written by torch.save, found {}; copy it again, or convert it to .safetensors",
                       text.empty() ? "no bytes at all" : "something else"));
    }
    return std::move(content_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    internal::fail_file(name_, fmt::format("not a valid PyTorch file: {}", what));
  }
  [[noreturn]] void fail_for_byte_order() const {
    fail("expected little-endian numbers, found big-endian ones; save it again on a little-endian machine");
  }

  std::size_t bytes_of(std::string_view key, const PickledStorage& storage, std::size_t there) const {
    const auto bytes = checked_multiply(storage.count, dtype_size(storage.dtype));
    if (!bytes || *bytes > there) {
      fail(fmt::format(
          "storage {} would take {} numbers of type {}, but only {} bytes follow: it is truncated or damaged; "
          "copy it again",
          quote_name(key), storage.count, dtype_name(storage.dtype), there));
    }
    return *bytes;
  }

  void read_zip() {
    const auto entries = list_stored_entries(file_, name_);
    std::optional<std::string_view> folder;
    for (const auto& [entry, bytes] : entries) {
      if (!entry.ends_with(kPickleEntry)) continue;
      if (folder) fail("expected one data.pkl, found two");
      folder = entry.substr(0, entry.size() - kPickleEntry.size());
    }
    if (!folder) fail("expected NAME/data.pkl in it, found none: torch.save did not write this zip file");
    const auto find = [&](std::string_view entry) { return entries.find(fmt::format("{}/{}", *folder, entry)); };
    if (find("constants.pkl") != entries.end())
      fail("expected weights, found a TorchScript program, which is not run; save the model's state_dict");
    if (const auto order = find("byteorder"); order != entries.end()) {
      const std::string_view text(reinterpret_cast<const char*>(order->second.data()), order->second.size());
      if (text == "big") fail_for_byte_order();
      if (text != "little") fail(fmt::format("expected \"little\" as byteorder, found {}", quote_name(text)));
    }
    const Bytes bytes = find("data.pkl")->second;
    const Pickle pickle = read_pickle(bytes, name_, advice_);
    const PickledWeights weights(pickle, name_, advice_);
    for (const auto& [key, storage] : weights.storages()) {
      const auto entry = find(fmt::format("data/{}", key));
      if (entry == entries.end())
        fail(fmt::format("storage {} is not in it: it is damaged; copy it again", quote_name(key)));
      storages_[key] = {storage, entry->second.first(bytes_of(key, storage, entry->second.size()))};
    }
    add_tensors(weights);
  }

  void read_legacy() {
    const Pickle magic = next_pickle();
    if (magic[magic.result].text != kLegacyMagic || magic[magic.result].kind != Kind::kLongNumber) {
      fail(
          fmt::format("expected PyTorch's magic number at its beginning, found {}; save the model's state_dict with "
                      "torch.save",
                      show_pickled(magic[magic.result])));
    }
    const Pickle protocol = next_pickle();
    if (protocol[protocol.result].kind != Kind::kNumber || protocol[protocol.result].number != kLegacyProtocol)
      fail(fmt::format("expected protocol {}, found {}", kLegacyProtocol, show_pickled(protocol[protocol.result])));
    check_system(next_pickle());
    const Pickle pickle = next_pickle();
    const PickledWeights weights(pickle, name_, advice_);
    const auto storages = weights.storages();
    const Pickle keys = next_pickle();
    if (keys[keys.result].kind != Kind::kList)
      fail("expected a list of storages, found " + show_pickled(keys[keys.result]));
    for (const PickleRef key : keys[keys.result].items) read_storage(keys[key], storages);
    if (storages_.size() != storages.size())
      fail(fmt::format("expected {} storages, found {}: it is damaged", storages.size(), storages_.size()));
    if (at_ != file_.size()) fail(fmt::format("{} bytes are left at its end: it is damaged", file_.size() - at_));
    add_tensors(weights);
  }

  Pickle next_pickle() {
    Pickle pickle = read_pickle(file_.subspan(at_), name_, advice_);
    at_ += pickle.size;
    return pickle;
  }

  void check_system(const Pickle& system) const {
    const PickleValue& facts = system[system.result];
    if (facts.kind != Kind::kDict) fail("expected system information, found " + show_pickled(facts));
    for (std::size_t i = 0; i < facts.items.size(); i += 2) {
      const PickleValue& value = system[facts.items[i + 1]];
      const bool is_order = system[facts.items[i]].text == "little_endian";
      if (is_order && value.kind == Kind::kBool && value.number == 0) fail_for_byte_order();
    }
  }

  void read_storage(const PickleValue& key, const std::map<std::string_view, PickledStorage>& storages) {
    const auto found = key.kind == Kind::kText ? storages.find(key.text) : storages.end();
    if (found == storages.end()) fail(fmt::format("{} is not one of its storages: it is damaged", show_pickled(key)));
    // The name in the key list goes away with its pickle; the one in the weights' pickle remains.
    const auto& [name, storage] = *found;
    if (file_.size() - at_ < sizeof(std::uint64_t)) fail("it ends before its storages do; copy it again");
    const auto count = little_endian<std::uint64_t>(file_, at_);
    at_ += sizeof(std::uint64_t);
    if (count != storage.count) {
      fail(fmt::format("storage {}: expected {} numbers, found {}: it is damaged; copy it again", quote_name(name),
                       storage.count, count));
    }
    const std::size_t bytes = bytes_of(name, storage, file_.size() - at_);
    if (!storages_.emplace(name, Stored{storage, file_.subspan(at_, bytes)}).second)
      fail(fmt::format("storage {} appears twice", quote_name(name)));
    at_ += bytes;
  }

  void add_tensors(const PickledWeights& weights) {
    for (const auto& [name, tensor] : weights.tensors()) {
      const auto found = storages_.find(tensor.storage);
      if (found == storages_.end()) fail(fmt::format("tensor {} has no storage", quote_name(name)));
      const Bytes bytes = view_of(name, tensor, found->second);
      content_.entries.emplace(name, PytorchFile::Entry{found->second.storage.dtype, tensor.shape, bytes});
    }
  }

  struct Stored {
    PickledStorage storage;
    Bytes bytes;
  };

  // Returns a tensor's numbers in row-major order, in place if they are stored that way, copied otherwise.
  Bytes view_of(std::string_view name, const PickledTensor& tensor, const Stored& stored) {
    const auto count = checked_product(tensor.shape);
    if (count && *count == 0) return {};
    // Whether the last element lies inside the storage; both are measured in elements.
    std::size_t last = tensor.offset;
    bool inside = last < stored.storage.count;
    bool in_order = true;
    std::size_t dense = 1;
    for (std::size_t d = tensor.shape.size(); inside && d-- > 0;) {
      if (tensor.shape[d] == 1) continue;
      in_order = in_order && tensor.strides[d] == dense;
      dense *= tensor.shape[d];
      const auto step = checked_multiply(tensor.shape[d] - 1, tensor.strides[d]);
      inside = step && *step < stored.storage.count - last;
      if (inside) last += *step;
    }
    if (!count || !inside) {
      fail(fmt::format("tensor {} of shape {} lies outside its storage of {} numbers: it is damaged; copy it again",
                       quote_name(name), shape_to_string(tensor.shape), stored.storage.count));
    }
    const std::size_t width = dtype_size(stored.storage.dtype);
    if (in_order) return stored.bytes.subspan(tensor.offset * width, *count * width);
    if (*count > stored.storage.count) {
      fail(
          fmt::format("tensor {} of shape {} repeats the numbers of its storage, which has only {}. Save it with "
                      "contiguous()",
                      quote_name(name), shape_to_string(tensor.shape), stored.storage.count));
    }
    return copy(name, tensor, stored, *count);
  }

  Bytes copy(std::string_view name, const PickledTensor& tensor, const Stored& stored, std::size_t count) {
    Bytes& made = copies_[{tensor.storage, tensor.offset, tensor.shape, tensor.strides}];
    if (!made.empty()) return made;
    const std::size_t width = dtype_size(stored.storage.dtype);
    copied_ += count * width;
    if (copied_ > file_.size()) {
      fail(
          fmt::format("tensor {} and others are views that take more bytes than the file has. Save them with "
                      "contiguous()",
                      quote_name(name)));
    }
    std::vector<std::byte>& bytes = content_.copies.emplace_back(count * width);
    std::vector<std::size_t> index(tensor.shape.size());
    std::size_t from = tensor.offset;
    for (std::size_t to = 0; to < count; ++to) {
      std::memcpy(bytes.data() + to * width, stored.bytes.data() + from * width, width);
      for (std::size_t d = index.size(); d-- > 0;) {
        from += tensor.strides[d];
        if (++index[d] < tensor.shape[d]) break;
        from -= index[d] * tensor.strides[d];
        index[d] = 0;
      }
    }
    return made = bytes;
  }

  Bytes file_;
  const std::string& name_;
  std::string advice_;
  std::size_t at_ = 0;  // current position in a file of the older format
  std::map<std::string_view, Stored> storages_;
  PytorchContent content_;
  std::map<std::tuple<std::string_view, std::size_t, Shape, Shape>, Bytes> copies_;
  std::size_t copied_ = 0;
};

}  // namespace
}  // namespace internal

struct PytorchFile::Impl {
  Impl() = default;
  explicit Impl(const std::filesystem::path& path) : mapping(path, "PyTorch weights") {}

  internal::MappedFile mapping;
  internal::PytorchContent content;
};

PytorchFile::PytorchFile(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {
  impl_->content = internal::PytorchReader(impl_->mapping.bytes(), path.string()).read();
}
PytorchFile::PytorchFile(std::span<const std::byte> bytes, const std::string& name) : impl_(std::make_unique<Impl>()) {
  impl_->content = internal::PytorchReader(bytes, name).read();
}
PytorchFile::PytorchFile(PytorchFile&&) noexcept = default;
PytorchFile& PytorchFile::operator=(PytorchFile&&) noexcept = default;
PytorchFile::~PytorchFile() = default;

const std::map<std::string, PytorchFile::Entry, std::less<>>& PytorchFile::entries() const {
  return impl_->content.entries;
}

}  // namespace attnflow
