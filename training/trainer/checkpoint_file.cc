#include "training/trainer/checkpoint_file.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/base/parse_number.h"
#include "attnflow/files/array_file.h"
#include "attnflow/files/input_file.h"
#include "attnflow/files/safetensors.h"

namespace attnflow {

namespace {

constexpr const char* kFormat = "attnflow-training 1";

using Tensors = std::map<std::string, Tensor<float>>;

// State is TrainerState or const TrainerState.
template <typename State>
auto groups(State& state) {
  return std::array{std::pair{std::string_view("weight."), &state.weights},
                    std::pair{std::string_view("first_moment."), &state.first_moments},
                    std::pair{std::string_view("second_moment."), &state.second_moments}};
}

template <typename Number>
Number parse(const std::filesystem::path& path, std::string_view key, const std::string& text) {
  const std::optional<Number> number = internal::parse_number<Number>(text);
  if (!number) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("{}: expected a number as \"{}\", found \"{}\"; the checkpoint is damaged, remove it to "
                            "start again",
                            path.string(), key, text));
  }
  return *number;
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const TrainingCheckpoint& checkpoint) {
  std::vector<NamedArray> arrays;
  for (const auto& [prefix, tensors] : groups(checkpoint.state)) {
    for (const auto& [name, tensor] : *tensors) {
      arrays.push_back({std::string(prefix) + name, Array::from(tensor.view())});
    }
  }
  write_safetensors(path, arrays,
                    {{"format", kFormat},
                     {"settings", checkpoint.settings},
                     {"phase", checkpoint.phase},
                     {"steps_done", std::to_string(checkpoint.steps_done)},
                     {"updates", std::to_string(checkpoint.state.steps)},
                     {"seconds", fmt::format("{}", checkpoint.seconds)},
                     {"history", checkpoint.history}});
}

std::optional<TrainingCheckpoint> load_checkpoint(const std::filesystem::path& path, const std::string& settings) {
  if (!internal::is_listed(path)) return std::nullopt;
  const SafetensorsFile file(path);
  const auto value = [&](const char* key) {
    const auto found = file.metadata().find(key);
    return found == file.metadata().end() ? std::string() : found->second;
  };
  if (value("format") != kFormat) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("{}: expected a checkpoint of \"{}\", found \"{}\"; remove it to start "
                            "again, or choose another folder",
                            path.string(), kFormat, value("format")));
  }
  if (value("settings") != settings) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{}: expected a checkpoint of a run with the same data and options, found another; finish "
                            "that run with its own options, or remove it to start again.\n  now:   {}\n  found: {}",
                            path.string(), settings, value("settings")));
  }
  TrainingCheckpoint checkpoint;
  checkpoint.settings = settings;
  checkpoint.phase = value("phase");
  checkpoint.steps_done = parse<std::size_t>(path, "steps_done", value("steps_done"));
  checkpoint.state.steps = parse<std::uint64_t>(path, "updates", value("updates"));
  checkpoint.seconds = parse<double>(path, "seconds", value("seconds"));
  checkpoint.history = value("history");
  for (const auto& [name, entry] : file.entries()) {
    for (const auto& [prefix, tensors] : groups(checkpoint.state)) {
      if (!name.starts_with(prefix)) continue;
      (*tensors)[name.substr(prefix.size())] = file.read(name).to_float(path.string() + ": " + name);
    }
  }
  return checkpoint;
}

TrainingCheckpoint find_checkpoint(const std::filesystem::path& path, const std::string& settings, bool names_phase,
                                   const std::function<void(const std::string&)>& say) {
  std::optional<TrainingCheckpoint> found = load_checkpoint(path, settings);
  if (!found) {
    TrainingCheckpoint fresh;
    fresh.settings = settings;
    return fresh;
  }
  say(fmt::format("resuming from the checkpoint in {}: {}step {}", path.string(),
                  names_phase ? found->phase + ", " : "", found->steps_done));
  return std::move(*found);
}

void check_training_output(const std::filesystem::path& output) {
  if (internal::is_listed(output / "training" / "checkpoint.safetensors")) return;
  for (const char* file : {"config.json", "model.safetensors"}) {
    if (!internal::is_listed(output / file)) continue;
    throw Error(ErrorKind::kUsage,
                fmt::format("{}: expected a new folder, or one with an interrupted training, found a "
                            "model ({}). Choose another folder, or remove that one first",
                            output.string(), file));
  }
}

void remove_training_files(const std::filesystem::path& output) {
  const std::filesystem::path work = output / "training";
  std::error_code ignored;
  for (const char* file :
       {"checkpoint.safetensors", "best.safetensors", "start/config.json", "start/model.safetensors"}) {
    std::filesystem::remove(work / file, ignored);
  }
  // Has no effect on folders that hold anything else.
  std::filesystem::remove(work / "start", ignored);
  std::filesystem::remove(work, ignored);
}

}  // namespace attnflow
