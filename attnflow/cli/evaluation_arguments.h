// Arguments that every task of attnflow evaluate takes, and where its report goes.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluation_file.h"
#include "attnflow/analysis/evaluate/mixed_graphs.h"
#include "attnflow/attribution/note.h"
#include "attnflow/cli/common_options.h"
#include "attnflow/cli/console.h"
#include "attnflow/cli/messages.h"

namespace attnflow {

struct EvaluationArguments {
  std::vector<std::string> outputs;
  std::vector<std::string> mixings = {"attention"};
  bool json = false;
  bool allow_unused_weights = false;
  ReadSettings read_settings;

  // Adds -o and --json.
  void add_outputs_to(CLI::App* task) {
    add_outputs(task, outputs, ".md .json .csv", "print tables");
    task->add_flag("--json", json, "Print the JSON on standard output");
  }

  // Fills in an evaluation's options, and checks the outputs before long work. Throws Error(kUsage).
  template <typename Options>
  void read(Options& options) const {
    read_settings(options.settings);
    options.mixings = parse_mixings(mixings);
    for (const std::string& output : outputs) check_evaluation_output(output);
    writes_to_standard_output(outputs, json);
  }

  // Writes the files; without any prints the tables, or the JSON.
  template <typename Report>
  void put(const Report& report) const {
    for (const std::string& output : outputs) write_evaluation(output, report);
    if (json) {
      fmt::print(console().out, "{}", evaluation_json(report));
    } else if (outputs.empty()) {
      fmt::print(console().out, "{}", evaluation_table(report, terminal_width().value_or(kUsualWidth)));
    } else {
      for (const std::string& note : note_texts(report.notes)) print_message("note: " + note);
      for (const std::string& output : outputs) print_written(output);
    }
  }
};

}  // namespace attnflow
