// The state of a training run, in one file that is either complete or absent.
//
// A .safetensors file with three tensors for each weight ("weight.NAME", "first_moment.NAME", "second_moment.NAME",
// float32) and, as metadata, the run's settings, its current phase and the number of steps done in it. Saving renames a
// new file, so a full disk or a crash costs only the steps since the last save.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "training/trainer/trainer.h"

namespace attnflow {

struct TrainingCheckpoint {
  std::string settings;  // must be the same for the run to resume; compared as text
  std::string phase;
  std::size_t steps_done = 0;  // in the phase
  double seconds = 0.0;        // spent so far, in all phases
  std::string history;         // JSON: measurements during the run
  TrainerState state;
};

// Throws Error(kOther) when the disk is full or cannot be written; the file is then unchanged.
void save_checkpoint(const std::filesystem::path& path, const TrainingCheckpoint& checkpoint);

// Returns nothing when there is no file. Throws Error(kBadFile) for a file that is not one of our checkpoints,
// Error(kUsage) when its settings are not `settings` (the message shows both).
std::optional<TrainingCheckpoint> load_checkpoint(const std::filesystem::path& path, const std::string& settings);

// Returns an interrupted run's checkpoint, reported through `say` (with its phase if `names_phase`), or a new one.
TrainingCheckpoint find_checkpoint(const std::filesystem::path& path, const std::string& settings, bool names_phase,
                                   const std::function<void(const std::string&)>& say);

// Training keeps its files in `output`/training. Throws Error(kUsage) when `output` already holds a model and no
// resumable training, so that nothing valuable is overwritten.
void check_training_output(const std::filesystem::path& output);
// Removes those files, and the folders if nothing else is in them.
void remove_training_files(const std::filesystem::path& output);

}  // namespace attnflow
