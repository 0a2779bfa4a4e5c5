// attnflow model: what a model is.

#include <fmt/format.h>

#include <memory>
#include <string>

#include "attnflow/cli/commands.h"
#include "attnflow/model/model.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow {
namespace {

const char* head_name(ModelHead head) {
  switch (head) {
    case ModelHead::kMaskedLm:
      return "masked language model";
    case ModelHead::kClassification:
      return "classification";
    case ModelHead::kNone:
      return "none";
  }
  return "none";
}

void run_model(const std::string& folder) {
  const ModelInfo info = read_model_info(folder);
  const Tokenizer tokenizer = Tokenizer::load(folder, info.architecture);
  fmt::print("name          {}\n", info.name);
  fmt::print("architecture  {}\n", info.architecture);
  fmt::print("layers        {}\n", info.layers);
  fmt::print("heads         {}\n", info.heads);
  fmt::print("hidden        {}\n", info.hidden);
  fmt::print("vocabulary    {} (tokenizer: {})\n", info.vocabulary, tokenizer.vocabulary_size());
  fmt::print("most tokens   {}\n", info.max_tokens);
  fmt::print("attention     {}\n", info.causal ? "causal" : "bidirectional");
  fmt::print("head          {}\n", head_name(info.head));
  if (!info.labels.empty()) fmt::print("labels        {}\n", fmt::join(info.labels, ", "));
  fmt::print("parameters    {}\n", info.parameters);
}

}  // namespace

void add_model_command(CLI::App& app) {
  auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("model", "What a model is");
  command->add_option("MODEL", *folder, "Folder of a Hugging Face model")->required()->type_name("DIR");
  command->callback([folder] { run_model(*folder); });
}

}  // namespace attnflow
