// The commands of the tool, one file each.
#pragma once

#include <CLI/CLI.hpp>

namespace attnflow {

// Each adds a subcommand whose callback does the work; failures throw attnflow::Error.
void add_evaluate_command(CLI::App& app);
void add_evidence_task(CLI::App& evaluate);  // a task of evaluate
void add_explain_command(CLI::App& app);
void add_generate_command(CLI::App& app);
void add_image_command(CLI::App& app);
void add_image_evaluation_task(CLI::App& evaluate);  // a task of evaluate
void add_model_command(CLI::App& app);
void add_serve_command(CLI::App& app);

}  // namespace attnflow
