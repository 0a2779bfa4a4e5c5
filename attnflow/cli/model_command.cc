// attnflow model: describes a model, lists the built-in ones, and converts a GGUF file to a Hugging Face folder.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/base/error.h"
#include "attnflow/cli/commands.h"
#include "attnflow/cli/common_options.h"
#include "attnflow/cli/console.h"
#include "attnflow/cli/messages.h"
#include "attnflow/cli/model_argument.h"
#include "attnflow/cli/progress_bar.h"
#include "attnflow/cli/stop_on_signal.h"
#include "attnflow/model/builtin_models.h"
#include "attnflow/model/convert_gguf.h"
#include "attnflow/model/gguf_info.h"
#include "attnflow/model/model.h"
#include "attnflow/model/model_card.h"
#include "attnflow/model/model_files.h"
#include "attnflow/text/tokenizer.h"
#include "attnflow/unicode/display_width.h"
#include "attnflow/words/lists.h"
#include "attnflow/words/text_table.h"

namespace attnflow {
namespace {

struct ModelArguments {
  std::optional<std::string> model;
  bool card = false;
  bool allow_unused_weights = false;
  std::optional<std::string> folder;
};

const char* head_name(ModelHead head) {
  switch (head) {
    case ModelHead::kMaskedLm:
      return "masked language model";
    case ModelHead::kClassification:
      return "classification";
    case ModelHead::kTokenClassification:
      return "token classification";
    case ModelHead::kQuestionAnswering:
      return "question answering";
    case ModelHead::kCausalLm:
      return "language model (decoder)";
    case ModelHead::kEmbedding:
      return "embedding";
    case ModelHead::kNone:
      return "none";
  }
  return "none";
}

// The size that a built-in model adds to the program.
std::string size_of(const BuiltinModel& model) {
  std::size_t bytes = 0;
  for (const MemoryFile& file : model.files) bytes += file.bytes.size();
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

void list_models() {
  internal::TextTable table;
  for (const char* const title : {"name", "size", "license", "description"}) {
    table.columns.push_back({title, internal::Align::kLeft});
  }
  std::string text_model;
  std::string image_model;
  for (const BuiltinModel& model : builtin_models()) {
    std::string& first = ModelFiles(model.folder()).info().image ? image_model : text_model;
    if (first.empty()) first = model.name;
    const ModelCard card = read_model_card(model.folder()).value_or(ModelCard{});
    table.rows.push_back({model.name, size_of(model), card.licence, card.summary});
  }
  if (table.rows.empty()) {
    print_message("note: this program has no built-in models; 'attnflow model DIR' describes a model in a folder");
    return;
  }
  fmt::print(console().out, "{}", internal::terminal_text(table));
  if (!text_model.empty()) print_message(fmt::format("note: explain uses {} when no --model is given", text_model));
  if (!image_model.empty()) print_message(fmt::format("note: image uses {} when no --model is given", image_model));
}

std::string roles_of(const ImageTokens& tokens) {
  std::vector<std::string> counts;
  for (std::size_t begin = 0; begin < tokens.roles.size();) {
    const TokenRole role = tokens.roles[begin];
    std::size_t end = begin;
    while (end < tokens.roles.size() && tokens.roles[end] == role) ++end;
    counts.push_back(fmt::format("{} {}", end - begin, token_role_name(role)));
    begin = end;
  }
  return internal::listed(std::move(counts));
}

void print_text_input(const Folder& folder, const ModelInfo& info) {
  const Tokenizer tokenizer = Tokenizer::load(folder, info.architecture);
  fmt::print(console().out, "vocabulary    {} (tokenizer: {})\n", info.vocabulary, tokenizer.vocabulary_size());
  fmt::print(console().out, "max tokens    {}\n", info.max_tokens);
  if (info.target) fmt::print(console().out, "max target    {}\n", info.target->max_tokens);
}

const char* attention_of(const ModelInfo& info) {
  if (info.target) return "bidirectional in the encoder, causal in the decoder, plus cross-attention to the encoder";
  return info.causal ? "causal" : "bidirectional";
}

void print_image_input(const ImageInfo& image) {
  const std::size_t height = image.rows() * image.patch_height;
  const std::size_t width = image.columns() * image.patch_width;
  fmt::print(
      console().out,
      "images        {} x {} pixels (height, width), {} channel{}; other sizes work, too (position embeddings are "
      "interpolated)\n",
      image.height, image.width, image.channels, image.channels == 1 ? "" : "s");
  fmt::print(console().out, "patches       {} x {} pixels: {} rows of {}\n", image.patch_height, image.patch_width,
             image.rows(), image.columns());
  const ImageTokens tokens = image_tokens(image, height, width);
  fmt::print(console().out, "tokens        {}: {}\n", tokens.roles.size(), roles_of(tokens));
}

void print_notes(const std::vector<ModelNote>& notes) {
  for (const ModelNote& one : notes) fmt::print(console().err, "note: {}\n", note_text(one.note));
}

void describe_model(const Folder& folder, const OpenOptions& options) {
  const ModelInfo info = ModelFiles(folder, options).info();
  fmt::print(console().out, "name          {}\n", info.name);
  fmt::print(console().out, "architecture  {}\n", info.architecture);
  if (info.target) {
    fmt::print(console().out,
               "layers        {} in one graph: {} of the encoder, and two for each of the decoder's {}\n", info.layers,
               info.target->encoder_layers, info.target->decoder_layers);
  } else {
    fmt::print(console().out, "layers        {}\n", info.layers);
  }
  fmt::print(console().out, "heads         {}\n", info.heads);
  fmt::print(console().out, "hidden        {}\n", info.hidden);
  if (info.image) {
    print_image_input(*info.image);
  } else {
    print_text_input(folder, info);
  }
  fmt::print(console().out, "attention     {}\n", attention_of(info));
  fmt::print(console().out, "head          {}\n", head_name(info.head));
  if (!info.labels.empty()) fmt::print(console().out, "labels        {}\n", fmt::join(info.labels, ", "));
  fmt::print(console().out, "parameters    {}\n", info.parameters);
  const std::optional<ModelCard> card = read_model_card(folder);
  if (card && !card->licence.empty()) fmt::print(console().out, "license       {}\n", card->licence);
  if (card && !card->summary.empty()) fmt::print(console().out, "description   {}\n", card->summary);
  print_notes(info.notes);
}

// clean_line() makes the file's strings safe for a terminal.
void print_gguf(const std::string& file) {
  const GgufInfo info = gguf_info(file, internal::read_gguf(file));
  const auto of_layers = [](const std::vector<std::size_t>& counts) {
    if (counts.empty() || counts == std::vector<std::size_t>{0}) return std::string("none");
    return counts.size() == 1 ? std::to_string(counts.front()) : fmt::format("by layer: {}", fmt::join(counts, ", "));
  };
  std::string heads = of_layers(info.heads);
  if (info.key_value_heads != info.heads)
    heads += fmt::format(" (key-value heads: {})", of_layers(info.key_value_heads));
  fmt::print(console().out, "name          {}\n", clean_line(info.name));
  fmt::print(console().out, "architecture  {}\n", clean_line(info.architecture));
  fmt::print(console().out, "layers        {}\n", info.layers);
  fmt::print(console().out, "heads         {}\n", heads);
  fmt::print(console().out, "hidden        {}\n", info.hidden);
  fmt::print(console().out, "vocabulary    {} (tokenizer in the file: {})\n", info.vocabulary,
             info.tokenizer.empty() ? "none" : clean_line(info.tokenizer));
  fmt::print(console().out, "max tokens    {}\n", info.context);
  fmt::print(console().out, "attention     {}\n", info.causal ? "causal" : "bidirectional");
  if (info.sliding_window > 0)
    fmt::print(console().out, "window        {} tokens, in some or all layers\n", info.sliding_window);
  fmt::print(console().out, "chat          {}\n",
             info.chat_template ? "has a template (generate --chat)" : "no template");
  fmt::print(console().out, "parameters    {}\n", info.parameters);
  fmt::print(console().out, "stored as     {}\n", storage_text(info));
  fmt::print(console().out, "file          GGUF, {:.1f} MB\n", static_cast<double>(info.bytes) / 1e6);
  if (!info.licence.empty()) fmt::print(console().out, "license       {}\n", clean_line(info.licence));
  print_notes(info.notes);
}

void print_card(const Folder& folder) {
  const std::optional<ModelCard> card = read_model_card(folder);
  if (!card) {
    throw Error(ErrorKind::kBadFile, fmt::format("{}: expected a model card (README.md), found none", folder.label()));
  }
  fmt::print(console().out, "{}", card->text);
}

void write_folder(const std::string& file, const std::string& folder) {
  ConvertOptions options;
  ProgressBar bar("writing");
  options.progress = bar.function();
  const StopOnSignal signals;
  options.stop_token = signals.token();
  const ConvertResult result = convert_gguf(file, folder, options);
  bar.finish();
  print_message(fmt::format("wrote {}: {}, {} parameters in {} tensors, {:.1f} MB", folder, result.model_type,
                            result.parameters, result.tensors, static_cast<double>(result.bytes) / 1e6));
  print_message(
      fmt::format("note: these are the dequantized weights ({} of {} tensors were quantized), not the originals",
                  result.quantised, result.tensors));
  print_message(fmt::format("note: the converted tokenizer gave the same tokens as the original for {} test texts",
                            result.texts_compared));
  for (const std::string& note : result.notes) print_message("note: " + note);
}

void run_model(const ModelArguments& arguments) {
  if (arguments.folder) {
    if (arguments.card) throw Error(ErrorKind::kUsage, "--card and -o are mutually exclusive");
    if (!arguments.model || !is_gguf(*arguments.model)) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("-o requires a GGUF file (.gguf), found {}",
                              arguments.model ? fmt::format("'{}'", *arguments.model) : std::string("none")));
    }
    if (*arguments.folder == "-") throw Error(ErrorKind::kUsage, "-o: expected the name of a new folder, found '-'");
    write_folder(*arguments.model, *arguments.folder);
    return;
  }
  if (!arguments.model) {
    if (arguments.card) throw Error(ErrorKind::kUsage, "--card requires a model");
    list_models();
    return;
  }
  if (is_gguf(*arguments.model)) {
    if (arguments.card) {
      throw Error(ErrorKind::kUsage, fmt::format("--card requires a folder or a built-in model, found the GGUF file "
                                                 "{}, which has no card (README.md); run without --card to describe it",
                                                 *arguments.model));
    }
    print_gguf(*arguments.model);
    return;
  }
  const Folder folder = resolve_model(*arguments.model);
  if (arguments.card) {
    print_card(folder);
  } else {
    describe_model(folder, {arguments.allow_unused_weights});
  }
}

}  // namespace

void add_model_command(CLI::App& app) {
  auto arguments = std::make_shared<ModelArguments>();
  CLI::App* command = app.add_subcommand("model", "Describe a model, or list the built-in ones");
  command->add_option("MODEL", arguments->model, "Hugging Face folder, GGUF file, or built-in model")
      ->type_name("DIR|FILE.gguf|NAME");
  command->add_flag("--card", arguments->card, "Print the model card (README.md): data, training, license");
  add_unused_weights_option(command, arguments->allow_unused_weights);
  command
      ->add_option("-o,--output", arguments->folder,
                   "Convert the GGUF file to a Hugging Face folder with float32 weights; FOLDER must not exist")
      ->type_name("FOLDER");
  command->callback([arguments] { run_model(*arguments); });
}

}  // namespace attnflow
