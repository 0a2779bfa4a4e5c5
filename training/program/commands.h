// Shared by the commands of attnflow-train: progress messages, and Ctrl-C as a request to stop.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

#include "training/trainer/training_phase.h"

namespace attnflow {

// Each callback does a command's work; failures throw attnflow::Error.
void add_prose_commands(CLI::App& app);  // agreement, masked, prefixes
void add_sentiment_command(CLI::App& app);
void add_fashion_command(CLI::App& app);

// Add --seed, --threads, and a number of the recipe in the help's group "Recipe".
void add_seed(CLI::App* command, std::uint64_t& seed);
void add_threads(CLI::App* command, std::size_t& threads);
void add_count(CLI::App* command, const char* name, std::size_t& value, const char* what);
void add_number(CLI::App* command, const char* name, double& value, const char* what);

TrainingCallbacks print_progress();

// Runs `work`, which writes to `output`, until it finishes or the user interrupts it.
void run_interruptible(const std::filesystem::path& output, const std::function<void(const std::stop_token&)>& work);

}  // namespace attnflow
