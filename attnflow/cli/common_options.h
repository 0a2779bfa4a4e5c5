// Options with the same meaning in several commands, and output handling.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/attribution/mixings.h"
#include "attnflow/attribution/setting_options.h"
#include "attnflow/draw/paper.h"

namespace attnflow {

// Throws Error(kUsage) if `wrong`, for options that cannot be combined.
void refuse_if(bool wrong, const std::string& message);

// The index of `found` among an option's choices. Otherwise throws Error(kUsage), listing the choices.
std::size_t index_of_choice(const std::string& option, const std::vector<std::string>& choices,
                            const std::string& found);

// A check for unsigned options, since CLI11 accepts -1 as a very large number. Empty if valid.
std::string whole_number(const std::string& text);

template <typename Number>
CLI::Option* add_whole_number(CLI::App* command, const std::string& name, Number& value, const std::string& help) {
  return command->add_option(name, value, help)->check(whole_number)->capture_default_str();
}

// One value per occurrence: CLI11 alone takes every argument up to the next option, so `--method flow "The key"` would
// consume the text.
CLI::Option* repeatable(CLI::Option* option);
// Likewise, with values that may be joined by commas.
CLI::Option* comma_list(CLI::Option* option);

// A command line's option from a table (attribution/option.h).
class OptionArgument {
 public:
  // `value` is the default.
  void add(CLI::App* command, const OptionInfo& option, OptionValue value, const char* help);
  bool is_given() const { return argument_->count() > 0; }
  // Throws Error(kUsage) for an invalid list.
  OptionValue value(const OptionInfo& option) const;

 private:
  OptionValue value_;
  std::string list_;  // of numbers
  CLI::Option* argument_ = nullptr;
};

// Stores the given options. Throws Error(kUsage) for an invalid value.
template <typename Owner>
using ReadOptions = std::function<void(Owner& owner)>;
using ReadSettings = ReadOptions<Settings>;

// Adds a table's options that a command takes, with `defaults`. The command calls the returned function after parsing.
// `helps` maps an option's name to a help text that replaces the table's. `group`: only options with this heading;
// nullptr: all.
template <typename Owner>
[[nodiscard]] ReadOptions<Owner> add_options(CLI::App* command, std::span<const Option<Owner>> table,
                                             const Owner& defaults, OptionUse use, const char* group = nullptr,
                                             const std::map<std::string, const char*>& helps = {}) {
  using Row = std::pair<const Option<Owner>*, OptionArgument>;
  const auto rows = std::make_shared<std::list<Row>>();
  for (const Option<Owner>& option : table) {
    if (!option.is_for(use) || (group != nullptr && option.group != std::string_view(group))) continue;
    const auto own = helps.find(option.name);
    rows->emplace_back(&option, OptionArgument());
    rows->back().second.add(command, option, option.get(defaults), own == helps.end() ? option.help : own->second);
  }
  return [rows](Owner& owner) {
    for (const auto& [option, argument] : *rows) {
      if (argument.is_given()) option->set(owner, argument.value(*option));
    }
  };
}

[[nodiscard]] ReadSettings add_settings(CLI::App* command, const Settings& defaults, OptionUse use,
                                        const std::map<std::string, const char*>& helps = {});

// Adds --mixing for evaluations of several: a comma-separated list, or all. `more` ends the help.
CLI::Option* add_mixings_option(CLI::App* command, std::vector<std::string>& names, const std::string& more = "");

// `more` continues the help for threads.
void add_machine(CLI::App* command, std::size_t& threads, const char* more, std::string& device);

// For commands that read a model's folder.
void add_unused_weights_option(CLI::App* command, bool& allowed);

// Adds --width, --font-size and --no-notes. After parsing, the command calls the returned function with the files that
// it writes. Throws Error(kUsage) for an invalid length, and for any of these options if no file is a figure.
using ReadPaper = std::function<PaperOptions(const std::vector<std::string>& outputs)>;
[[nodiscard]] ReadPaper add_paper_options(CLI::App* command);

// Adds -o, which may be repeated, and --force. In the help, `endings` lists the supported kinds and `otherwise`
// describes the default. Parsing adds each file to the command's outputs, which rejects a file that is an input or
// another output before the work (internal::CommandFiles::add_output).
void add_outputs(CLI::App* command, std::vector<std::string>& outputs, const std::string& endings,
                 const char* otherwise);

// Whether -o - is given. Throws Error(kUsage) if --json is also written there.
bool writes_to_standard_output(const std::vector<std::string>& outputs, bool json);

// Prints "wrote FILE" to standard error, unless it is standard output.
void print_written(const std::string& output);

// As add_outputs(), for a command's only output.
void add_output(CLI::Option* option);

// Reads one text from the console. Throws Error(kUsage) for several lines, unless `multiline` makes them one text.
std::string read_text_from_standard_input(bool multiline);

void add_multiline(CLI::App* command, bool& multiline);

// The last line of every help.
inline constexpr const char* kExitCodes =
    "Exit codes: 0 success, 2 usage error, 3 bad input file, 4 unsupported model, 5 input too long, 1 anything else.";

// Ends the help of a command with examples, a command on each line, above the exit codes.
void add_examples(CLI::App* command, const std::vector<std::string>& lines);

// The columns of a table if no terminal states them.
inline constexpr std::size_t kUsualWidth = 80;

}  // namespace attnflow
