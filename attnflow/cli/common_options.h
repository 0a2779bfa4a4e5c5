// What several commands have in common: options that mean the same everywhere, and where they write.
#ifndef ATTNFLOW_CLI_COMMON_OPTIONS_H_
#define ATTNFLOW_CLI_COMMON_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/mixings.h"
#include "attnflow/attribution/setting_options.h"
#include "attnflow/draw/paper.h"

namespace attnflow {

// Throws Error(kUsage) for options that do not go together.
void refuse_if(bool wrong, const std::string& message);

// The place of `found` among an option's choices. Throws Error(kUsage), which names them, for what is none of them.
std::size_t index_of_choice(const std::string& option, const std::vector<std::string>& choices,
                            const std::string& found);

// For CLI::Option::check on unsigned options: CLI11 alone takes -1 for a very large number. Empty when all is well.
std::string whole_number(const std::string& text);

// An option that is such a number, with its default in the help.
template <typename Number>
CLI::Option* add_whole_number(CLI::App* command, const std::string& name, Number& value, const std::string& help) {
  return command->add_option(name, value, help)->check(whole_number)->capture_default_str();
}

// Makes an option of several values take one from each time it is given: CLI11 alone takes every argument up to the
// next option, so `--method flow "The key"` would swallow the text.
CLI::Option* repeatable(CLI::Option* option);
// The same of values that may also be joined by commas in one argument.
CLI::Option* comma_list(CLI::Option* option);

// Sets what the command line says of the settings. Throws Error(kUsage) for a text that is none of a setting's.
using ReadSettings = std::function<void(Settings& settings)>;

// The options of the settings that a command takes (attribution/setting_options.h), with `defaults`. The command calls
// what is returned once its command line is read. `helps`: by a setting's name, what a command says of it instead of
// the table. Those that change how values are shown stand in the help's group "Output", the others where all do.
[[nodiscard]] ReadSettings add_settings(CLI::App* command, const Settings& defaults, SettingUse use,
                                        const std::map<std::string, const char*>& helps = {});

// --mixing of evaluations that compare several: a comma-separated list, or all.
CLI::Option* add_mixings_option(CLI::App* command, std::vector<std::string>& names);
// None for all: those that the model can be given. Throws Error(kUsage) for what is no mixing.
std::vector<Mixing> parse_mixings(const std::vector<std::string>& names);

// --threads and --device; the help of threads goes on with `more`.
void add_machine(CLI::App* command, std::size_t& threads, const char* more, std::string& device);

// --allow-unused-weights: for commands that read a model's folder.
void add_unused_weights_option(CLI::App* command, bool& allowed);

// --keep-attention and --certificate
void add_report_extras(CLI::App* command, bool& keep_attention, std::vector<std::string>& certificates);

// --width, --font-size and --no-notes, of figures. The command calls what is returned once its command line is read,
// with the files it writes. Throws Error(kUsage): a text that is no length, and any of them where no file is a figure.
using ReadPaper = std::function<PaperOptions(const std::vector<std::string>& outputs)>;
[[nodiscard]] ReadPaper add_paper_options(CLI::App* command);

// --integration-steps
void add_integration_steps(CLI::App* command, std::size_t& steps);

// -o, which may be repeated, and --force. `endings` says in the help which kinds there are, `otherwise` what happens
// without it. When the command line is read, each file joins the list of the command's outputs, so that one that is
// an input or another output is refused before the work (internal::CommandFiles::add_output).
void add_outputs(CLI::App* command, std::vector<std::string>& outputs, const std::string& endings,
                 const char* otherwise);

// Whether one of the outputs is standard output (-o -). Throws Error(kUsage) where --json is written there, too.
bool writes_to_standard_output(const std::vector<std::string>& outputs, bool json);

// "wrote FILE" on standard error; nothing of standard output.
void print_written(const std::string& output);

// The same for an option that names the one file that a command writes.
void add_output(CLI::Option* option);

// One text from the console's input (read_standard_input()). Throws Error(kUsage) for several lines, unless `multiline`
// says that they are one text.
std::string read_text_from_standard_input(bool multiline);

// --multiline
void add_multiline(CLI::App* command, bool& multiline);
// Columns where it is none.
inline constexpr std::size_t kUsualWidth = 80;

}  // namespace attnflow

#endif  // ATTNFLOW_CLI_COMMON_OPTIONS_H_
