#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "attnflow/base/fail.h"
#include "attnflow/files/array_file.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/input_file.h"
#include "attnflow/files/messages.h"
#include "attnflow/files/npy_format.h"
#include "attnflow/files/npz_format.h"

namespace attnflow {
namespace {

using internal::fail_file;
using internal::quote_name;

constexpr std::string_view kEnding = ".npy";
constexpr std::string_view kExpected = "a NumPy .npz file (a zip file of arrays)";
// Deflate emits at most 258 bytes for two bits of input, so no valid entry expands by more than this factor.
constexpr std::uint64_t kMaxDeflateRatio = 1032;
// Dense attention hardly compresses further with more effort, and the fastest level takes a third of the time.
constexpr std::uint32_t kDeflateLevel = 1;
// Midnight on January 1, 1980: the earliest time stamp that a zip file can hold.
constexpr std::uint16_t kFixedTime = 0;
constexpr std::uint16_t kFixedDate = (0 << 9) | (1 << 5) | 1;
constexpr std::uint32_t kRegularFileMode = 0100644U << 16;

struct DiscardArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, DiscardArchive>;
struct CloseEntry {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
struct FreeSource {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Source = std::unique_ptr<zip_source_t, FreeSource>;

class ZipError {
 public:
  ZipError() { zip_error_init(&error_); }
  explicit ZipError(int code) { zip_error_init_with_code(&error_, code); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  ~ZipError() { zip_error_fini(&error_); }
  zip_error_t* get() { return &error_; }
  std::string text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_;
};

[[noreturn]] void fail_to_open(const std::string& name, const std::string& reason) {
  fail_file(name, fmt::format("expected {}, found one that cannot be opened: {}", kExpected, reason));
}

struct OpenArchive {
  std::string name;
  std::uint64_t size = 0;
  Archive zip;
};

OpenArchive open_archive(const std::filesystem::path& path) {
  OpenArchive archive{path.string(), 0, nullptr};
  internal::InputFile file(path, kExpected);
  archive.size = file.size();
  if (archive.size == 0) fail_to_open(archive.name, "it is empty");  // libzip treats it as an archive without entries
  int code = 0;
  archive.zip.reset(zip_fdopen(file.descriptor(), 0, &code));
  if (!archive.zip) fail_to_open(archive.name, ZipError(code).text());
  (void)file.release();  // libzip owns it now
  return archive;
}

OpenArchive open_archive(std::span<const std::byte> bytes, const std::string& name) {
  OpenArchive archive{name, bytes.size(), nullptr};
  if (bytes.empty()) fail_to_open(name, "it is empty");
  ZipError error;
  Source source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, error.get()));
  if (!source) fail_to_open(name, error.text());
  archive.zip.reset(zip_open_from_source(source.get(), ZIP_RDONLY, error.get()));
  if (!archive.zip) fail_to_open(name, error.text());
  (void)source.release();  // owned by the archive now
  return archive;
}

std::vector<std::string> entry_names(const OpenArchive& archive) {
  std::vector<std::string> names;
  const zip_int64_t count = zip_get_num_entries(archive.zip.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* const name = zip_get_name(archive.zip.get(), static_cast<zip_uint64_t>(i), ZIP_FL_ENC_GUESS);
    names.emplace_back(name == nullptr ? "" : name);
  }
  return names;
}

std::vector<std::string> keys_of(const OpenArchive& archive) {
  std::vector<std::string> keys;
  for (const std::string& name : entry_names(archive))
    if (name.ends_with(kEnding)) keys.push_back(name.substr(0, name.size() - kEnding.size()));
  return keys;
}

Array read_entry(const OpenArchive& archive, std::string_view key, const ReadLimits& limits) {
  const std::vector<std::string> names = entry_names(archive);
  const std::string wanted = std::string(key) + std::string(kEnding);
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found == names.end()) {
    const std::vector<std::string> keys = keys_of(archive);
    fail_file(archive.name, fmt::format("expected an array named {}; the file holds {}", quote_name(key),
                                        internal::quote_names({keys.begin(), keys.end()})));
  }
  if (std::find(found + 1, names.end(), wanted) != names.end())
    fail_file(archive.name, fmt::format("holds two arrays named {}; save it again", quote_name(key)));
  const auto index = static_cast<zip_uint64_t>(found - names.begin());
  const std::string name = fmt::format("{}: array {}", archive.name, quote_name(key));

  zip_stat_t status;
  zip_stat_init(&status);
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if (zip_stat_index(archive.zip.get(), index, 0, &status) != 0 || (status.valid & kNeeded) != kNeeded)
    fail_file(name, "the zip file does not give its size; save it again");
  if (status.encryption_method != ZIP_EM_NONE) fail_file(name, "is encrypted; save it without a password");
  if (status.comp_method != ZIP_CM_STORE && status.comp_method != ZIP_CM_DEFLATE) {
    fail_file(name,
              fmt::format("expected stored or deflated data, found zip compression method {}; save it with np.savez or "
                          "np.savez_compressed",
                          status.comp_method));
  }
  // Zip bombs stop here: at the limit, or at a size that the compressed bytes cannot expand to.
  const bool possible = status.comp_size <= archive.size &&
                        (status.comp_method == ZIP_CM_STORE ? status.size == status.comp_size
                                                            : status.size / kMaxDeflateRatio <= status.comp_size);
  if (!possible) {
    fail_file(name, fmt::format("claims to have {} bytes, compressed to {}, in a zip file of {} bytes: it is damaged",
                                status.size, status.comp_size, archive.size));
  }

  const std::unique_ptr<zip_file_t, CloseEntry> file(zip_fopen_index(archive.zip.get(), index, 0));
  if (!file)
    fail_file(name,
              fmt::format("cannot be read: {}; the file is damaged: copy it again", zip_strerror(archive.zip.get())));
  const auto read = [&](std::span<std::byte> into) {
    const zip_int64_t got = zip_fread(file.get(), into.data(), into.size());
    if (got < 0) {
      fail_file(name, fmt::format("cannot be decompressed: {}; the file is damaged: copy it again",
                                  zip_error_strerror(zip_file_get_error(file.get()))));
    }
    return static_cast<std::size_t>(got);
  };
  return internal::parse_npy({status.size, read}, name, limits);
}

[[noreturn]] void fail_to_write_npz(const std::filesystem::path& path, const std::string& reason) {
  fail_with(ErrorKind::kOther, "{}: cannot write this .npz file: {}", path.string(), reason);
}

Source build_archive(const std::filesystem::path& path, const std::vector<internal::NpyBytes>& contents,
                     const std::vector<NamedArray>& arrays) {
  ZipError error;
  Source target(zip_source_buffer_create(nullptr, 0, 0, error.get()));
  if (!target) fail_to_write_npz(path, error.text());
  Archive archive(zip_open_from_source(target.get(), ZIP_TRUNCATE, error.get()));
  if (!archive) fail_to_write_npz(path, error.text());
  zip_source_keep(target.get());  // one reference is owned by the archive, the other by `target`

  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const internal::NpyBytes& bytes = contents[i];
    // libzip's fragments are not const because libzip can be asked to free them; here it only reads them.
    std::array<zip_buffer_fragment_t, 2> fragments{};
    fragments[0].data = reinterpret_cast<zip_uint8_t*>(const_cast<char*>(bytes.header.data()));
    fragments[0].length = bytes.header.size();
    fragments[1].data = reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(bytes.data.data()));
    fragments[1].length = bytes.data.size();
    const std::size_t used = bytes.data.empty() ? 1 : 2;
    Source source(zip_source_buffer_fragment_create(fragments.data(), used, 0, error.get()));
    if (!source) fail_to_write_npz(path, error.text());
    const std::string entry = arrays[i].name + std::string(kEnding);
    const zip_int64_t added = zip_file_add(archive.get(), entry.c_str(), source.get(), ZIP_FL_ENC_UTF_8);
    if (added < 0) fail_to_write_npz(path, zip_strerror(archive.get()));
    (void)source.release();  // owned by the archive now
    const auto index = static_cast<zip_uint64_t>(added);
    if (zip_set_file_compression(archive.get(), index, ZIP_CM_DEFLATE, kDeflateLevel) != 0 ||
        zip_file_set_dostime(archive.get(), index, kFixedTime, kFixedDate, 0) != 0 ||
        zip_file_set_external_attributes(archive.get(), index, 0, ZIP_OPSYS_UNIX, kRegularFileMode) != 0) {
      fail_to_write_npz(path, zip_strerror(archive.get()));
    }
  }
  if (zip_close(archive.get()) != 0) fail_to_write_npz(path, zip_strerror(archive.get()));
  (void)archive.release();  // zip_close freed it
  return target;
}

}  // namespace

namespace internal {

std::vector<std::string> list_npz(std::span<const std::byte> archive, const std::string& name) {
  return keys_of(open_archive(archive, name));
}

Array parse_npz(std::span<const std::byte> archive, const std::string& name, std::string_view key,
                const ReadLimits& limits) {
  return read_entry(open_archive(archive, name), key, limits);
}

}  // namespace internal

std::vector<std::string> list_npz(const std::filesystem::path& path) { return keys_of(open_archive(path)); }

Array read_npz(const std::filesystem::path& path, std::string_view key, const ReadLimits& limits) {
  return read_entry(open_archive(path), key, limits);
}

void write_npz(const std::filesystem::path& path, const std::vector<NamedArray>& arrays) {
  std::set<std::string_view> names;
  std::vector<internal::NpyBytes> contents;
  contents.reserve(arrays.size());
  for (const NamedArray& named : arrays) {
    if (named.name.empty() || !names.insert(named.name).second)
      fail_to_write_npz(
          path, fmt::format("expected arrays with unique names, found {} twice or empty", quote_name(named.name)));
    contents.push_back(internal::serialize_npy(named.array));
  }
  AtomicFile file(path);  // before the work, so that an unwritable path is reported at once
  if (arrays.empty()) {
    // libzip writes no file for an empty archive; this is the end record that such a zip file consists of.
    file.write(std::string_view("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22));
    file.commit();
    return;
  }
  const Source archive = build_archive(path, contents, arrays);
  if (zip_source_open(archive.get()) != 0) fail_to_write_npz(path, zip_error_strerror(zip_source_error(archive.get())));
  std::vector<std::byte> chunk(std::size_t{1} << 20);
  zip_int64_t got = 0;
  while ((got = zip_source_read(archive.get(), chunk.data(), chunk.size())) > 0)
    file.write(std::span(chunk).first(static_cast<std::size_t>(got)));
  zip_source_close(archive.get());
  if (got < 0) fail_to_write_npz(path, "the archive cannot be read back from memory");
  file.commit();
}

}  // namespace attnflow
