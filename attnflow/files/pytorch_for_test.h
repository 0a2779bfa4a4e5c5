// Writes test files as torch.save does: pickles built by hand, in both of PyTorch's formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/files/files_for_test.h"

namespace attnflow::test {

namespace pickle {

inline std::string name(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string text(const std::string& text) {
  return "X" + bytes_of(static_cast<std::uint32_t>(text.size())) + text;
}
inline std::string number(std::int64_t value) { return "\x8a\x08" + bytes_of(value); }
inline std::string tuple(const std::vector<std::string>& items) {
  std::string all = "(";
  for (const std::string& item : items) all += item;
  return all + "t";
}
inline std::string list(const std::vector<std::string>& items) {
  std::string all = "](";
  for (const std::string& item : items) all += item;
  return all + "e";
}
inline std::string sizes(const std::vector<std::int64_t>& values) {
  std::vector<std::string> items;
  for (const std::int64_t value : values) items.push_back(number(value));
  return tuple(items);
}
inline std::string call(const std::string& function, const std::vector<std::string>& arguments) {
  return function + tuple(arguments) + "R";
}
inline std::string ordered_dict() { return name("collections", "OrderedDict") + ")R"; }
// An OrderedDict with version information, like a state_dict.
inline std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string all = ordered_dict() + "(";
  for (const auto& [key, value] : items) all += text(key) + value;
  return all + "u}" + text("_metadata") + ordered_dict() + "sb";
}
inline std::string whole(const std::string& value) { return "\x80\x02" + value + "."; }

inline std::string storage(const std::string& type, const std::string& key, std::int64_t count, bool legacy) {
  std::vector<std::string> id = {text("storage"), name("torch", type), text(key), text("cpu"), number(count)};
  if (legacy) id.push_back("N");
  return tuple(id) + "Q";
}
inline std::string tensor(const std::string& storage, std::int64_t offset, const std::vector<std::int64_t>& shape,
                          const std::vector<std::int64_t>& strides) {
  return call(name("torch._utils", "_rebuild_tensor_v2"),
              {storage, number(offset), sizes(shape), sizes(strides), "\x89", ordered_dict()});
}

}  // namespace pickle

struct ZipForTest {
  struct Entry {
    std::string name, bytes;
    std::uint16_t method = 0;
    std::uint16_t flags = 0;
    std::uint32_t crc = 0;
    std::optional<std::uint32_t> size = {}, compressed = {};  // if not those of `bytes`
  };
  std::vector<Entry> entries;
  bool in_64_bits = true;  // as PyTorch writes it

  std::string write() const {
    std::string file, directory;
    for (const Entry& entry : entries) {
      const std::uint32_t size = entry.size.value_or(static_cast<std::uint32_t>(entry.bytes.size()));
      const std::uint32_t compressed = entry.compressed.value_or(static_cast<std::uint32_t>(entry.bytes.size()));
      const auto name_size = static_cast<std::uint16_t>(entry.name.size());
      const std::uint64_t at = file.size();
      const std::string same =
          bytes_of(entry.flags) + bytes_of(entry.method) + bytes_of(std::uint32_t{0}) + bytes_of(entry.crc);
      file += bytes_of(std::uint32_t{0x04034b50}) + bytes_of(std::uint16_t{45}) + same + bytes_of(compressed) +
              bytes_of(size) + bytes_of(name_size) + bytes_of(std::uint16_t{5}) + entry.name +
              std::string("FB\1\0Z", 5) + entry.bytes;
      const std::string extra = in_64_bits ? bytes_of(std::uint16_t{1}) + bytes_of(std::uint16_t{24}) +
                                                 bytes_of(std::uint64_t{size}) + bytes_of(std::uint64_t{compressed}) +
                                                 bytes_of(at)
                                           : "";
      directory += bytes_of(std::uint32_t{0x02014b50}) + bytes_of(std::uint32_t{0}) + same +
                   bytes_of(in_64_bits ? 0xffffffff : compressed) + bytes_of(in_64_bits ? 0xffffffff : size) +
                   bytes_of(name_size) + bytes_of(static_cast<std::uint16_t>(extra.size())) + std::string(10, '\0') +
                   bytes_of(in_64_bits ? 0xffffffff : static_cast<std::uint32_t>(at)) + entry.name + extra;
    }
    const std::uint64_t begin = file.size();
    const std::uint64_t count = entries.size();
    const std::uint64_t size = directory.size();
    std::string end;
    if (in_64_bits) {
      end = bytes_of(std::uint32_t{0x06064b50}) + bytes_of(std::uint64_t{44}) + std::string(12, '\0') +
            bytes_of(count) + bytes_of(count) + bytes_of(size) + bytes_of(begin) +  //
            bytes_of(std::uint32_t{0x07064b50}) + bytes_of(std::uint32_t{0}) + bytes_of(begin + size) +
            bytes_of(std::uint32_t{1});
    }
    const auto count16 = static_cast<std::uint16_t>(count);
    end += bytes_of(std::uint32_t{0x06054b50}) + bytes_of(std::uint32_t{0}) + bytes_of(count16) + bytes_of(count16) +
           bytes_of(static_cast<std::uint32_t>(size)) + bytes_of(static_cast<std::uint32_t>(begin)) +
           bytes_of(std::uint16_t{0});
    return file + directory + end;
  }
};

// Storages by key, stored next to the pickle of the dict they are in.
using StoragesForTest = std::vector<std::pair<std::string, std::string>>;

inline ZipForTest pytorch_zip(const std::string& value, const StoragesForTest& storages) {
  ZipForTest zip{.entries = {{"any name/data.pkl", pickle::whole(value)}, {"any name/byteorder", "little"}}};
  for (const auto& [key, bytes] : storages) zip.entries.push_back({"any name/data/" + key, bytes});
  zip.entries.push_back({"any name/version", "3\n"});
  return zip;
}

// `width` is the size of the storages' elements in bytes.
inline std::string pytorch_legacy(const std::string& value, const StoragesForTest& storages, std::size_t width) {
  std::vector<std::string> keys;
  std::string data;
  for (const auto& [key, bytes] : storages) {
    keys.push_back(pickle::text(key));
    data += bytes_of(std::uint64_t{bytes.size() / width}) + bytes;
  }
  const std::string magic("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19");
  const std::string system = "}(" + pickle::text("little_endian") + "\x88" + "u";
  return pickle::whole(magic) + pickle::whole("M\xe9\x03") + pickle::whole(system) + pickle::whole(value) +
         pickle::whole(pickle::list(keys)) + data;
}

}  // namespace attnflow::test
