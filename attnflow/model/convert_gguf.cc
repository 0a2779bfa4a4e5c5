#include "attnflow/model/convert_gguf.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "attnflow/base/checked_size.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/gguf.h"
#include "attnflow/files/mapped_file.h"
#include "attnflow/files/messages.h"
#include "attnflow/files/safetensors_stream.h"
#include "attnflow/files/temporary_entry.h"
#include "attnflow/model/backend.h"
#include "attnflow/model/decoder.h"
#include "attnflow/model/decoder_weights.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/gguf_layout.h"
#include "attnflow/model/gguf_tokenizer.h"
#include "attnflow/model/model_files.h"

namespace attnflow {
namespace {

namespace fs = std::filesystem;
using internal::ConvertedModel;
using internal::ConvertedTensor;
using internal::GgufBlock;
using internal::GgufHeader;
using internal::quote_name;
using internal::TensorChange;

constexpr std::size_t kChunk = std::size_t{1} << 20;  // numbers read at a time

void check_target(const fs::path& folder) {
  std::error_code ignored;
  if (folder.empty()) throw Error(ErrorKind::kUsage, "expected the name of a folder to create, found none");
  if (!fs::exists(fs::symlink_status(folder, ignored))) return;
  internal::fail(ErrorKind::kUsage,
                 "{}: expected the name of a new folder, found an existing file or folder; "
                 "remove it first, or give another name",
                 folder.string());
}

// A folder with a temporary name, removed unless commit() gives it its final name.
class NewFolder {
 public:
  explicit NewFolder(const fs::path& target) : target_(target.has_filename() ? target : target.parent_path()) {
    const fs::path parent = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
    std::error_code error;
    if (!fs::is_directory(parent, error)) fail(fmt::format("there is no folder {}; create it first", parent.string()));
    internal::remove_leftovers(parent);
    internal::TemporaryEntry entry = internal::make_temporary_folder(parent);
    if (entry.descriptor < 0) fail(internal::system_reason(errno));
    temporary_ = std::move(entry.path);
    lock_ = entry.descriptor;
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder() {
    std::error_code ignored;
    if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
    if (lock_ >= 0) ::close(lock_);
  }

  const fs::path& path() const { return temporary_; }

  void commit() {
    check_target(target_);  // again, because something may have been created in the meantime
    std::error_code error;
    fs::rename(temporary_, target_, error);
    if (error) fail(error.message());
    temporary_.clear();
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    internal::fail(ErrorKind::kOther, "{}: cannot create this folder: {}", target_.string(), reason);
  }

  fs::path target_;
  fs::path temporary_;
  int lock_ = -1;
};

// Reads numbers in Hugging Face's order.
class TensorReader {
 public:
  TensorReader(const GgufHeader& header, std::span<const std::byte> file, const std::string& source)
      : header_(header), file_(file), source_(source) {}

  template <typename Take>
  void read(const ConvertedTensor& tensor, const Take& take) {
    const std::vector<std::size_t>& extents = tensor.source->extents;
    const std::size_t count = extents.size() == 1 ? extents[0] : extents[0] * extents[1];
    const GgufBlock block = *internal::gguf_block(tensor.source->type);
    std::size_t chunk = count;
    const std::size_t width = extents.size() == 1 ? 1 : extents[0];
    if (tensor.change == TensorChange::kHalves) {
      chunk = tensor.head_width * width;
    } else if (tensor.change == TensorChange::kNone) {
      chunk = std::max(kChunk / extents[0], std::size_t{1}) * extents[0];
    }
    if (chunk % block.elements != 0) {
      internal::fail(ErrorKind::kUnsupportedModel,
                     "{}: tensor {}: expected a bias as plain numbers, found blocks of {}", source_,
                     quote_name(tensor.source->name), block.elements);
    }
    for (std::size_t begin = 0; begin < count; begin += chunk) {
      const std::size_t numbers = std::min(chunk, count - begin);
      values_.resize(numbers);
      const std::size_t offset = header_.data_begin + tensor.source->offset + begin / block.elements * block.bytes;
      llama_backend().dequantise(tensor.source->type, file_.subspan(offset, numbers / block.elements * block.bytes),
                                 values_);
      for (const float value : values_) {
        if (!std::isfinite(value)) {
          internal::fail(ErrorKind::kBadFile,
                         "{}: tensor {}: expected finite numbers, found {}; the file is damaged, download it again",
                         source_, quote_name(tensor.source->name), value);
        }
      }
      if (tensor.change == TensorChange::kNone) {
        take(std::span<const float>(values_));
        continue;
      }
      changed_.resize(numbers);
      if (tensor.change == TensorChange::kHalves) {
        part_pairs(tensor.head_width, width);
      } else {
        transpose(extents[1], extents[0]);
      }
      take(std::span<const float>(changed_));
    }
  }

 private:
  // Row 2 i + j of a head becomes row j d/2 + i.
  void part_pairs(std::size_t head_width, std::size_t width) {
    for (std::size_t row = 0; row < head_width; ++row) {
      const std::size_t to = row % 2 * (head_width / 2) + row / 2;
      std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(row * width), width,
                  changed_.begin() + static_cast<std::ptrdiff_t>(to * width));
    }
  }

  void transpose(std::size_t rows, std::size_t columns) {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column)
        changed_[column * rows + row] = values_[row * columns + column];
    }
  }

  const GgufHeader& header_;
  std::span<const std::byte> file_;
  const std::string& source_;
  std::vector<float> values_;
  std::vector<float> changed_;
};

void write_weights(const ConvertedModel& model, const GgufHeader& header, std::span<const std::byte> file,
                   const std::string& source, const NewFolder& folder, const ConvertOptions& options,
                   ConvertResult& result) {
  std::vector<internal::TensorPlan> plan;
  for (const ConvertedTensor& tensor : model.tensors) {
    plan.push_back({tensor.name, DType::kF32, tensor.shape});
    result.parameters += element_count(tensor.shape);
    result.quantised += internal::gguf_block(tensor.source->type)->elements > 1 ? 1 : 0;
  }
  result.tensors = plan.size();

  TensorReader reader(header, file, source);
  internal::SafetensorsStream stream(folder.path() / "model.safetensors", plan, {{"format", "pt"}});
  result.bytes = stream.size();
  std::size_t written = 0;
  for (const ConvertedTensor& tensor : model.tensors) {
    reader.read(tensor, [&](std::span<const float> values) {
      if (options.stop_token.stop_requested()) throw Cancelled();
      stream.write(std::as_bytes(values));
      written += values.size_bytes();
      if (options.progress) options.progress(written, stream.size());
    });
  }
  stream.commit();
}

std::string config_text(const ConvertedModel& model, const internal::ConvertedTokenizer& tokenizer) {
  nlohmann::json config = model.config;
  if (tokenizer.begin >= 0) config["bos_token_id"] = tokenizer.begin;
  if (tokenizer.end >= 0) config["eos_token_id"] = tokenizer.end;
  config["torch_dtype"] = "float32";
  return config.dump(2) + "\n";
}

bool is_plain(std::string_view text) {
  return !text.empty() && text.size() < 80 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_' || c == '+';
  });
}

std::string card_text(const GgufHeader& header, const fs::path& file, const ConvertResult& result) {
  std::string card;
  const std::string licence = header.text("general.license").value_or("");
  if (is_plain(licence)) card += fmt::format("---\nlicense: {}\n---\n\n", licence);
  card += fmt::format(
      "The dequantized weights of {} in float32 ({} of {} tensors were quantized), not the originals. Created by "
      "`attnflow model FILE.gguf -o FOLDER`.\n",
      quote_name(file.filename().string()), result.quantised, result.tensors);
  return card;
}

}  // namespace

ConvertResult convert_gguf(const fs::path& file, const fs::path& folder, const ConvertOptions& options) {
  check_target(folder);
  const std::string source = file.string();
  const internal::MappedFile mapping(file, "GGUF");
  const GgufFile gguf =
      describe_gguf(file, internal::parse_gguf(mapping.bytes(), source, internal::GgufArrays::kWhole));
  const GgufHeader& header = gguf.header;
  const ConvertedModel model = internal::plan_conversion(header, mapping.bytes(), source);

  const std::unique_ptr<Decoder> decoder = ModelFiles(gguf).load_decoder({.threads = 1});
  const TextCodec& codec = *decoder->codec();
  const internal::ConvertedTokenizer tokenizer =
      internal::convert_tokenizer(header, codec, model.settings.vocabulary, model.settings.positions, source);

  ConvertResult result;
  result.model_type = model.settings.architecture->model_type;
  result.notes = tokenizer.notes;
  NewFolder made(folder);
  write_file(made.path() / "config.json", config_text(model, tokenizer));
  write_file(made.path() / "tokenizer.json", tokenizer.tokenizer);
  write_file(made.path() / "tokenizer_config.json", tokenizer.settings);
  write_file(made.path() / "generation_config.json", tokenizer.generation);
  result.texts_compared = internal::check_tokenizer(made.path(), result.model_type, codec, tokenizer.special_tokens);
  write_weights(model, header, mapping.bytes(), source, made, options, result);
  write_file(made.path() / "README.md", card_text(header, file, result));
  find_decoder_weights(made.path());  // checks that the torch backend can find every tensor that it needs
  made.commit();
  return result;
}

}  // namespace attnflow
