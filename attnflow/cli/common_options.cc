#include "attnflow/cli/common_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "attnflow/analysis/write_report.h"
#include "attnflow/base/error.h"
#include "attnflow/base/parse_number.h"
#include "attnflow/base/suggestion.h"
#include "attnflow/cli/console.h"
#include "attnflow/cli/messages.h"
#include "attnflow/files/command_files.h"
#include "attnflow/files/output_target.h"

namespace attnflow {
namespace {

internal::CommandFiles& command_list() {
  internal::CommandFiles* const files = internal::command_files();
  assert(files != nullptr && "run_app() keeps the list");
  return *files;
}

}  // namespace

void refuse_if(bool wrong, const std::string& message) {
  if (wrong) throw Error(ErrorKind::kUsage, message);
}

std::size_t index_of_choice(const std::string& option, const std::vector<std::string>& choices,
                            const std::string& found) {
  const auto at = std::find(choices.begin(), choices.end(), found);
  if (at == choices.end()) throw Error(ErrorKind::kUsage, internal::not_among(option, choices, found));
  return static_cast<std::size_t>(at - choices.begin());
}

std::string whole_number(const std::string& text) {
  if (internal::parse_number<std::uint64_t>(text)) return "";
  return fmt::format("expected a whole number of at least 0, found '{}'", text);
}

CLI::Option* repeatable(CLI::Option* option) { return option->take_all()->allow_extra_args(false); }

CLI::Option* comma_list(CLI::Option* option) { return repeatable(option->delimiter(',')); }

CLI::Option* add_mixings_option(CLI::App* command, std::vector<std::string>& names, const std::string& more) {
  return comma_list(command->add_option("--mixing", names,
                                        "Matrix of each layer, as in explain; comma-separated, or all: every mixing "
                                        "that the model supports" +
                                            more))
      ->capture_default_str();
}

void OptionArgument::add(CLI::App* command, const OptionInfo& option, OptionValue value, const char* help) {
  value_ = std::move(value);
  const std::string name = fmt::format("{}{}--{}", option.letter == nullptr ? "" : option.letter,
                                       option.letter == nullptr ? "" : ",", option.dashed());
  argument_ = std::visit(
      [&](auto& typed) -> CLI::Option* {
        using Value = std::decay_t<decltype(typed)>;
        if constexpr (std::is_same_v<Value, bool>) {
          return command->add_flag(name, typed, help);
        } else if constexpr (std::is_same_v<Value, std::size_t>) {
          return add_whole_number(command, name, typed, help);
        } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
          const bool one_each = option.form == OptionForm::kOneEach || option.form == OptionForm::kPairs;
          CLI::Option* const texts = command->add_option(name, typed, help);
          return one_each ? repeatable(texts) : comma_list(texts);
        } else if constexpr (std::is_same_v<Value, std::vector<std::size_t>>) {
          if (option.form != OptionForm::kIds) return command->add_option(name, list_, help);
          return comma_list(command->add_option(name, typed, help))->check(whole_number);
        } else {
          return command->add_option(name, typed, help);
        }
      },
      value_);
  argument_->group(option.group);
  if (option.type != nullptr) argument_->type_name(option.type);
  const auto* const text = std::get_if<std::string>(&value_);
  const auto* const texts = std::get_if<std::vector<std::string>>(&value_);
  const bool has_default = std::holds_alternative<double>(value_) || (text != nullptr && !text->empty()) ||
                           (texts != nullptr && !texts->empty());
  if (has_default) argument_->capture_default_str();
}

OptionValue OptionArgument::value(const OptionInfo& option) const {
  if (!std::holds_alternative<std::vector<std::size_t>>(value_) || option.form == OptionForm::kIds) return value_;
  std::vector<std::size_t> numbers = parse_numbers(option, list_);
  sort_once(numbers);
  return numbers;
}

ReadSettings add_settings(CLI::App* command, const Settings& defaults, OptionUse use,
                          const std::map<std::string, const char*>& helps) {
  return add_options(command, setting_options(), defaults, use, nullptr, helps);
}

void add_machine(CLI::App* command, std::size_t& threads, const char* more, std::string& device) {
  add_whole_number(command, "--threads", threads, fmt::format("Number of threads; 0: one per processor{}", more));
  command->add_option("--device", device, "Device to run the model on: cpu, or cuda[:N]")->capture_default_str();
}

void add_unused_weights_option(CLI::App* command, bool& allowed) {
  command->add_flag("--allow-unused-weights", allowed,
                    "Ignore weights that config.json has no place for, such as extra layers (Hugging Face folders)");
}

ReadPaper add_paper_options(CLI::App* command) {
  struct Given {
    std::string width;
    std::string font_size;
    bool no_notes = false;
  };
  const auto given = std::make_shared<Given>();
  command
      ->add_option("--width", given->width,
                   "Width of .svg, .pdf and .png, such as 3.3in, 8.4cm, 84mm, 240pt or 900px (default 900px)")
      ->type_name("LENGTH");
  command->add_option("--font-size", given->font_size, "Points of the labels in figures (default 7.5)")
      ->type_name("POINTS");
  command->add_flag("--no-notes", given->no_notes,
                    "Leave title, notes and explanations out of figures, for a paper with a caption of its own");
  return [given](const std::vector<std::string>& outputs) {
    const bool draws = std::any_of(outputs.begin(), outputs.end(), is_picture);
    const auto check = [&](bool is_given, const char* option) {
      refuse_if(is_given && !draws, fmt::format("{} requires a figure (-o FILE.svg, .pdf or .png)", option));
    };
    check(!given->width.empty(), "--width");
    check(!given->font_size.empty(), "--font-size");
    check(given->no_notes, "--no-notes");
    PaperOptions paper;
    if (!given->width.empty()) paper.width = parse_length("--width", given->width);
    if (!given->font_size.empty()) paper.font_size = parse_font_size("--font-size", given->font_size);
    paper.notes = !given->no_notes;
    return paper;
  };
}

void add_outputs(CLI::App* command, std::vector<std::string>& outputs, const std::string& endings,
                 const char* otherwise) {
  const std::string help = fmt::format(
      "Write a file; the extension selects the format ({}). - is standard output, as JSON; -.csv as CSV, and so on. "
      "May be repeated. Default: {}",
      endings, otherwise);
  CLI::Option* option = repeatable(command->add_option("-o,--output", outputs, help))->type_name("FILE");
  CLI::Option* force = command->add_flag("--force")->description("Allow -o to overwrite an input file");
  option->check([force](const std::string&) {
    command_list().say_how_to_replace("--force");
    // Checks run after all arguments are parsed, wherever --force appears.
    if (force->count() > 0) command_list().allow_replacing_inputs();
    return std::string();
  });
  add_output(option);
}

void add_output(CLI::Option* option) {
  option->check([](const std::string& path) {
    command_list().add_output(path);
    return std::string();
  });
}

bool writes_to_standard_output(const std::vector<std::string>& outputs, bool json) {
  const bool writes = std::any_of(outputs.begin(), outputs.end(),
                                  [](const std::string& output) { return internal::is_standard_output(output); });
  refuse_if(writes && json, "--json and -o - both write to standard output; remove one of them");
  return writes;
}

void print_written(const std::string& output) {
  if (!internal::is_standard_output(output)) print_message("wrote " + output);
}

void add_examples(CLI::App* command, const std::vector<std::string>& lines) {
  command->footer(fmt::format("Examples:\n  {}\n\n{}", fmt::join(lines, "\n  "), kExitCodes));
}

void add_multiline(CLI::App* command, bool& multiline) {
  command->add_flag("--multiline", multiline, "Take several lines of standard input as one text with line breaks");
}

std::string read_text_from_standard_input(bool multiline) {
  std::string text = read_standard_input();
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  refuse_if(
      lines > 1 && !multiline,
      fmt::format("expected one text on standard input, found {} lines; add --multiline if they are one text, else "
                  "run the command once for each line: while IFS= read -r line; do printf '%s\\n' \"$line\" | "
                  "attnflow ...; done",
                  lines));
  return text;
}

}  // namespace attnflow
