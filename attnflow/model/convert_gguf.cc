#include "attnflow/model/convert_gguf.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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
#include "attnflow/model/fail.h"
#include "attnflow/model/gguf_layout.h"
#include "attnflow/model/gguf_parts.h"
#include "attnflow/model/gguf_tensor_reader.h"
#include "attnflow/model/gguf_tokenizer.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/model_weights.h"

namespace attnflow {
namespace {

namespace fs = std::filesystem;
using internal::ConvertedModel;
using internal::ConvertedTensor;
using internal::GgufHeader;
using internal::quote_name;

constexpr std::size_t kChunk = std::size_t{1} << 20;  // numbers written at a time

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

void write_weights(const ConvertedModel& model, const internal::GgufParts& parts, const std::string& source,
                   const NewFolder& folder, const ConvertOptions& options, ConvertResult& result) {
  std::vector<internal::TensorPlan> plan;
  for (const ConvertedTensor& tensor : model.tensors) {
    plan.push_back({tensor.name, DType::kF32, tensor.shape});
    result.parameters += element_count(tensor.shape);
    result.quantised += internal::gguf_block(tensor.source->type)->elements > 1 ? 1 : 0;
  }
  result.tensors = plan.size();

  internal::SafetensorsStream stream(folder.path() / "model.safetensors", plan, {{"format", "pt"}});
  result.bytes = stream.size();
  std::size_t written = 0;
  std::vector<float> values;
  for (const ConvertedTensor& tensor : model.tensors) {
    const internal::GgufTensorReader reader(tensor, parts.bytes(*tensor.source), source);
    const std::size_t rows = element_count(tensor.shape) / reader.width();
    const std::size_t step = reader.reads_rows() ? std::max(kChunk / reader.width(), std::size_t{1}) : rows;
    for (std::size_t row = 0; row < rows; row += step) {
      if (options.stop_token.stop_requested()) throw Cancelled();
      values.resize(std::min(step, rows - row) * reader.width());
      reader.read(row, values);
      stream.write(std::as_bytes(std::span<const float>(values)));
      written += values.size() * sizeof(float);
      if (options.progress) options.progress(written, stream.size());
    }
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
  const internal::GgufParts parts(file, header);
  const ConvertedModel model = internal::plan_conversion(parts.header(), parts.reader(), source);
  if (!model.settings.architecture->experts.stacked_out.empty()) {
    internal::fail(
        ErrorKind::kUnsupportedModel,
        "{}: expected a model whose tensors a Hugging Face folder keeps one by one, found {}, which stacks its "
        "experts in another way there; every method works on the file itself",
        source, model.settings.architecture->model_type);
  }

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
  write_weights(model, parts, source, made, options, result);
  write_file(made.path() / "README.md", card_text(header, file, result));
  find_weights(made.path());  // checks that the torch backend can find every tensor that it needs
  made.commit();
  return result;
}

}  // namespace attnflow
