#include "attnflow/cli/common_options.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cassert>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <system_error>

#include "attnflow/base/error.h"
#include "attnflow/files/command_files.h"
#include "attnflow/report/report.h"

namespace attnflow {
namespace {

internal::CommandFiles& command_list() {
  internal::CommandFiles* const files = internal::command_files();
  assert(files != nullptr && "run_app() keeps the list");
  return *files;
}

}  // namespace

std::string whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!text.empty() && error == std::errc{} && end == text.data() + text.size()) return "";
  return fmt::format("expected a whole number of at least 0, found '{}'", text);
}

CLI::Option* comma_list(CLI::Option* option) { return option->delimiter(',')->take_all()->allow_extra_args(false); }

void add_graph_options(CLI::App* command, ReportSettings& settings, std::string& layers, const char* group) {
  comma_list(command->add_option("--method", settings.method, "raw, rollout, flow, or several joined by commas"))
      ->capture_default_str()
      ->group(group);
  command->add_option("--heads", settings.heads, "Head fusion: mean, max, min, or the number of one head")
      ->capture_default_str()
      ->group(group);
  command->add_option("--residual", settings.residual, "Weight of the residual connection in A = (1 - rho) W + rho I")
      ->capture_default_str()
      ->group(group);
  command->add_option("--layers", layers, "Layers to look from, such as 6, 1-6 or 1,3,6 (default: all)")->group(group);
  command->add_option("--to-layer", settings.to_layer, "Layer to look down to; 0 is the input")
      ->check(whole_number)
      ->capture_default_str()
      ->group(group);
}

void add_mixing_options(CLI::App* command, ReportSettings& settings, const char* group) {
  command
      ->add_option("--mixing", settings.mixing,
                   "What a layer's matrix is made of: attention; gradient (attention weighted with the gradient of "
                   "--target, I + G as published for rollout, rows divided by their sums for flow); or "
                   "gradient-renormalized (rows divided for rollout, too)")
      ->capture_default_str()
      ->group(group);
  command
      ->add_option(
          "--target", settings.target,
          "--mixing gradient: of which class (label or number) or next token (a word, or id:N); auto: the most "
          "probable")
      ->capture_default_str()
      ->group(group);
}

void add_unused_weights_option(CLI::App* command, bool& allowed, const char* group) {
  CLI::Option* const option = command->add_flag(
      "--allow-unused-weights", allowed,
      "Folders: leave out weights that config.json has no place for, such as layers beyond its number");
  if (group != nullptr) option->group(group);
}

void add_outputs(CLI::App* command, std::vector<std::string>& outputs, const char* endings, const char* otherwise) {
  CLI::Option* option = command->add_option("-o,--output", outputs);
  option
      ->description(fmt::format("Write a file; its ending chooses the kind ({}). May be repeated. Without it {}",
                                endings, otherwise))
      ->type_name("FILE")
      ->take_all()
      ->allow_extra_args(false);
  CLI::Option* force = command->add_flag("--force")->description("-o may replace a file that the command reads");
  option->check([force](const std::string&) {
    command_list().say_how_to_replace("--force");
    // All arguments have been seen when the first is checked, wherever --force stands.
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

std::string read_standard_input() {
  std::string text;
  std::array<char, 1 << 12> chunk{};
  while (const std::size_t read = std::fread(chunk.data(), 1, chunk.size(), stdin)) text.append(chunk.data(), read);
  if (std::ferror(stdin) != 0) {
    throw Error(ErrorKind::kOther, "expected a text on standard input, which cannot be read; is it closed?");
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

std::optional<std::size_t> terminal_width() {
  winsize window{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) {
    return std::nullopt;
  }
  return window.ws_col;
}

}  // namespace attnflow
