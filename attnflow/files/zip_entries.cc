#include "attnflow/files/zip_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/files/little_endian.h"
#include "attnflow/files/messages.h"

namespace attnflow::internal {
namespace {

// Each kind of record begins with its signature and has a fixed-size part.
constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::size_t kLocalBytes = 30;
constexpr std::uint32_t kCentralSignature = 0x02014b50;
constexpr std::size_t kCentralBytes = 46;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::size_t kEndBytes = 22;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::uint32_t kLocatorSignature = 0x07064b50;
constexpr std::size_t kLocatorBytes = 20;
constexpr std::size_t kMaxComment = 65535;
constexpr std::uint32_t kIn64 = 0xffffffff;  // the number is in the extra field
constexpr std::uint16_t kExtra64 = 1;
constexpr std::uint16_t kEncrypted = 1;

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> file, const std::string& source) : file_(file), source_(source) {}

  std::map<std::string_view, std::span<const std::byte>> read() {
    find_directory();
    for (std::uint64_t i = 0; i < count_; ++i) read_entry();
    refuse_overlaps();
    return std::move(entries_);
  }

 private:
  struct Extent {
    std::size_t begin, end;
    std::string_view name;
  };

  [[noreturn]] void fail(const std::string& what) const {
    fail_file(source_, fmt::format("not a valid zip file of weights: {}; copy it again", what));
  }
  std::uint16_t number16(std::size_t at) const { return little_endian<std::uint16_t>(file_, at); }
  std::uint32_t number32(std::size_t at) const { return little_endian<std::uint32_t>(file_, at); }
  std::uint64_t number64(std::size_t at) const { return little_endian<std::uint64_t>(file_, at); }
  std::string_view text(std::size_t at, std::size_t length) const {
    return {reinterpret_cast<const char*>(file_.data()) + at, length};
  }
  static bool fits(std::uint64_t at, std::uint64_t bytes, std::size_t end) { return at <= end && bytes <= end - at; }

  // Finds the record at the end, which only a comment may follow and which locates the directory.
  void find_directory() {
    std::optional<std::size_t> end;
    const std::size_t last = file_.size() < kEndBytes ? 0 : file_.size() - kEndBytes;
    for (std::size_t back = 0; file_.size() >= kEndBytes && back <= std::min(last, kMaxComment) && !end; ++back) {
      const std::size_t at = last - back;
      if (number32(at) == kEndSignature && number16(at + 20) == back) end = at;
    }
    if (!end) fail("expected the directory at its end, found none: it is truncated or damaged");
    count_ = number16(*end + 10);
    std::uint64_t bytes = number32(*end + 12);
    std::uint64_t begin = number32(*end + 16);
    std::size_t directory_end = *end;
    if (*end >= kLocatorBytes && number32(*end - kLocatorBytes) == kLocatorSignature) {
      const std::uint64_t at = number64(*end - kLocatorBytes + 8);
      if (!fits(at, kEnd64Bytes, *end - kLocatorBytes) || number32(at) != kEnd64Signature)
        fail("expected the directory's record of 64-bit sizes, found none where it should be");
      count_ = number64(at + 32);
      bytes = number64(at + 40);
      begin = number64(at + 48);
      directory_end = at;
    }
    if (!fits(begin, bytes, directory_end) || count_ > bytes / kCentralBytes) {
      fail(fmt::format("expected a directory of {} entries in {} bytes from byte {} on, in a file of {} bytes", count_,
                       bytes, begin, file_.size()));
    }
    directory_ = at_ = begin;
    directory_end_ = begin + bytes;
  }

  void read_entry() {
    if (!fits(at_, kCentralBytes, directory_end_) || number32(at_) != kCentralSignature)
      fail(fmt::format("expected an entry of the directory at byte {}", at_));
    const std::size_t name_bytes = number16(at_ + 28);
    const std::size_t extra_bytes = number16(at_ + 30);
    const std::size_t whole = kCentralBytes + name_bytes + extra_bytes + number16(at_ + 32);
    if (!fits(at_, whole, directory_end_)) fail("an entry of the directory does not end in it");
    const std::string_view name = text(at_ + kCentralBytes, name_bytes);
    std::uint64_t size = number32(at_ + 24);
    std::uint64_t packed = number32(at_ + 20);
    std::uint64_t local = number32(at_ + 42);
    read_sizes_of_64_bits(at_ + kCentralBytes + name_bytes, extra_bytes, {&size, &packed, &local});

    const std::uint16_t method = number16(at_ + 10);
    if ((number16(at_ + 8) & kEncrypted) != 0) fail(fmt::format("entry {} is encrypted", quote_name(name)));
    if (method != 0 || packed != size) {
      fail(fmt::format("expected entries that are stored as they are, found {} compressed (method {})",
                       quote_name(name), method));
    }
    add(name, local, size);
    at_ += whole;
  }

  // Replaces those of `numbers` that do not fit into their usual field.
  void read_sizes_of_64_bits(std::size_t extra, std::size_t bytes, std::initializer_list<std::uint64_t*> numbers) {
    if (std::none_of(numbers.begin(), numbers.end(), [](const std::uint64_t* one) { return *one == kIn64; })) return;
    const std::size_t extra_end = extra + bytes;
    while (fits(extra, 4, extra_end)) {
      const std::uint16_t id = number16(extra);
      const std::size_t end = extra + 4 + number16(extra + 2);
      if (end > extra_end) break;
      extra += 4;
      if (id == kExtra64) {
        for (std::uint64_t* const one : numbers) {
          if (*one != kIn64) continue;
          if (!fits(extra, sizeof *one, end)) fail("a 64-bit size of an entry is missing");
          *one = number64(extra);
          extra += sizeof *one;
        }
        return;
      }
      extra = end;
    }
    // 2^32 - 1 may also be the actual size; fits() has the last word.
  }

  void add(std::string_view name, std::uint64_t local, std::uint64_t size) {
    if (!fits(local, kLocalBytes, directory_) || number32(local) != kLocalSignature)
      fail(fmt::format("expected entry {} at byte {}, found something else", quote_name(name), local));
    const std::size_t begin = local + kLocalBytes + number16(local + 26) + number16(local + 28);
    if (!fits(begin, size, directory_)) {
      fail(fmt::format("entry {} would take {} bytes from byte {} on, but the directory begins at byte {}",
                       quote_name(name), size, begin, directory_));
    }
    if (!entries_.emplace(name, file_.subspan(begin, size)).second)
      fail(fmt::format("entry {} appears twice", quote_name(name)));
    extents_.push_back({local, begin + size, name});
  }

  void refuse_overlaps() {
    std::sort(extents_.begin(), extents_.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < extents_.size(); ++i) {
      if (extents_[i].begin < extents_[i - 1].end)
        fail(fmt::format("entries {} and {} overlap", quote_name(extents_[i - 1].name), quote_name(extents_[i].name)));
    }
  }

  std::span<const std::byte> file_;
  const std::string& source_;
  std::uint64_t count_ = 0;
  std::size_t at_ = 0;
  std::size_t directory_ = 0;
  std::size_t directory_end_ = 0;
  std::map<std::string_view, std::span<const std::byte>> entries_;
  std::vector<Extent> extents_;
};

}  // namespace

std::map<std::string_view, std::span<const std::byte>> list_stored_entries(std::span<const std::byte> archive,
                                                                           const std::string& source) {
  return ZipReader(archive, source).read();
}

}  // namespace attnflow::internal
