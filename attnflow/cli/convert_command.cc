// attnflow convert: a GGUF file's weights as a Hugging Face folder.

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/cli/commands.h"
#include "attnflow/cli/decoder_argument.h"
#include "attnflow/cli/progress_bar.h"
#include "attnflow/cli/stop_on_signal.h"
#include "attnflow/model/convert_gguf.h"

namespace attnflow {
namespace {

struct ConvertArguments {
  std::string model;
  std::string folder;
  std::string dtype = "f32";
};

DType dtype_of(const std::string& name) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    if (name == dtype_name(dtype)) return dtype;
  }
  throw Error(ErrorKind::kUsage, fmt::format("--dtype: expected f32, f16 or bf16, found '{}'", name));
}

void run_convert(const ConvertArguments& arguments) {
  ConvertOptions options;
  options.dtype = dtype_of(arguments.dtype);
  if (!is_gguf(arguments.model)) {
    throw Error(ErrorKind::kUsage, fmt::format("expected a GGUF file (.gguf) to convert, found '{}'", arguments.model));
  }
  ProgressBar bar("converting");
  options.progress = bar.function();
  const StopOnSignal signals;
  options.stop_token = signals.token();
  const ConvertResult result = convert_gguf(arguments.model, arguments.folder, options);
  bar.finish();
  fmt::print(stderr, "wrote {}: {}, {} parameters in {} tensors, {:.1f} MB\n", arguments.folder, result.model_type,
             result.parameters, result.tensors, static_cast<double>(result.bytes) / 1e6);
  fmt::print(stderr,
             "note: these are the numbers that the file stands for ({} of {} tensors were quantised), not those from "
             "before quantisation\n",
             result.quantised, result.tensors);
  fmt::print(stderr, "note: both tokenizers gave the same tokens for {} texts\n", result.texts_compared);
  for (const std::string& note : result.notes) fmt::print(stderr, "note: {}\n", note);
}

}  // namespace

void add_convert_command(CLI::App& app) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App* command = app.add_subcommand(
      "convert", "Write a GGUF decoder as a Hugging Face folder, which the torch backend runs with gradients");
  command->add_option("MODEL", arguments->model, "GGUF file: llama (SmolLM2, Mistral), qwen2 or gpt2")
      ->required()
      ->type_name("FILE.gguf");
  command->add_option("-o,--output", arguments->folder, "The folder to make; it must not be there yet")
      ->required()
      ->type_name("FOLDER");
  command->add_option("--dtype", arguments->dtype, "Numbers of the weights: f32, f16 or bf16")->capture_default_str();
  command->callback([arguments] { run_convert(*arguments); });
}

}  // namespace attnflow
