// Where a training run stands, in one file that is either whole or absent.
//
// A .safetensors file with three tensors for each weight ("weight.NAME", "first_moment.NAME", "second_moment.NAME",
// float32) and, as metadata, what the run is (settings), which phase it is in and how many steps of it are done. Saving
// writes a new file beside the old one and renames it, so a full disk or a crash costs the steps since the last save
// and nothing more.
#ifndef ATTNFLOW_TRAINING_TRAINER_CHECKPOINT_FILE_H_
#define ATTNFLOW_TRAINING_TRAINER_CHECKPOINT_FILE_H_

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "training/trainer/trainer.h"

namespace attnflow {

struct TrainingCheckpoint {
  std::string settings;  // what must be the same for the run to go on; compared as text
  std::string phase;
  std::size_t steps_done = 0;  // of the phase
  double seconds = 0.0;        // spent so far, in all phases
  std::string history;         // JSON: what was measured on the way
  TrainerState state;
};

// Throws Error(kOther) when the disk is full or cannot be written; the file is then as before.
void save_checkpoint(const std::filesystem::path& path, const TrainingCheckpoint& checkpoint);

// Nothing when there is no file. Throws Error(kBadFile) for a file that is no checkpoint of ours, Error(kUsage) when
// its settings are not `settings` (the message shows both).
std::optional<TrainingCheckpoint> load_checkpoint(const std::filesystem::path& path, const std::string& settings);

// That of an interrupted run, which `say` is told of with its phase's name or without, or a new one, of no phase.
TrainingCheckpoint find_checkpoint(const std::filesystem::path& path, const std::string& settings, bool names_phase,
                                   const std::function<void(const std::string&)>& say);

// Training keeps its files in `output`/training. Throws Error(kUsage) when `output` already holds a model and no
// training that is to go on: nothing is overwritten that somebody may want.
void check_training_output(const std::filesystem::path& output);
// Removes those files, and the folders when nothing else is in them.
void remove_training_files(const std::filesystem::path& output);

}  // namespace attnflow

#endif  // ATTNFLOW_TRAINING_TRAINER_CHECKPOINT_FILE_H_
