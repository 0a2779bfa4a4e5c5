#include "training/trainer/training_phase.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnflow/base/progress.h"
#include "attnflow/base/random.h"

namespace attnflow {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Counts tokens, or images.
std::size_t units_of(const std::vector<TrainingBatch>& batches) {
  std::size_t units = 0;
  for (const TrainingBatch& batch : batches) {
    if (!batch.pixels.empty()) units += batch.rows;
    for (const std::size_t length : batch.lengths) units += length;
  }
  return units;
}

class StepSequence {
 public:
  StepSequence(std::span<const std::size_t> lengths, const BatchPlanOptions& options, std::size_t first)
      : lengths_(lengths), options_(options), steps_(plan_epoch(lengths, 0, options)), next_(first) {
    while (next_ >= steps_.size()) advance();
  }

  const StepShards& next() {
    if (next_ >= steps_.size()) advance();
    return steps_[next_++];
  }

 private:
  void advance() {
    next_ -= steps_.size();
    steps_ = plan_epoch(lengths_, ++epoch_, options_);
  }

  std::span<const std::size_t> lengths_;
  BatchPlanOptions options_;
  std::size_t epoch_ = 0;
  std::vector<StepShards> steps_;
  std::size_t next_;
};

void remember(TrainingCheckpoint& checkpoint, const std::string& phase, std::size_t step, const std::string& json) {
  auto history =
      checkpoint.history.empty() ? nlohmann::ordered_json::array() : nlohmann::ordered_json::parse(checkpoint.history);
  nlohmann::ordered_json entry = {{"phase", phase}, {"step", step}};
  entry.update(nlohmann::ordered_json::parse(json));
  history.push_back(std::move(entry));
  checkpoint.history = history.dump();
}

}  // namespace

double learning_rate(const PhaseOptions& options, std::size_t step) {
  const auto done = static_cast<double>(step);
  const auto all = static_cast<double>(options.steps);
  const double warmup = std::max(1.0, options.warmup * all);
  const double rising = (done + 1.0) / warmup;
  const double falling = (all - done) / std::max(1.0, all - warmup);
  return options.rate * std::min({1.0, rising, falling});
}

void run_phase(Trainer& trainer, std::span<const std::size_t> lengths, const MakeBatch& make_batch,
               const Measure& measure, const PhaseOptions& options, const std::filesystem::path& checkpoint_path,
               TrainingCheckpoint& checkpoint, const std::function<void(const PhaseProgress&)>& report,
               const std::stop_token& stop_token) {
  if (checkpoint.phase == options.name) {
    trainer.set_state(checkpoint.state);
  } else {
    checkpoint.phase = options.name;
    checkpoint.steps_done = 0;
  }
  const std::size_t first = checkpoint.steps_done;
  const double seconds_before = checkpoint.seconds;
  const Clock::time_point start = Clock::now();
  Clock::time_point saved = start;
  Clock::time_point reported = start;
  const auto save = [&](std::size_t done) {
    checkpoint.steps_done = done;
    checkpoint.seconds = seconds_before + seconds_since(start);
    checkpoint.state = trainer.state();
    save_checkpoint(checkpoint_path, checkpoint);
    saved = Clock::now();
  };

  if (first >= options.steps) return;
  StepSequence sequence(lengths, options.batches, first);
  std::size_t units = 0;
  double cost = 0.0;
  std::size_t costs = 0;
  for (std::size_t step = first; step < options.steps; ++step) {
    if (stop_token.stop_requested()) {
      save(step);
      throw Cancelled();
    }
    std::vector<TrainingBatch> batches;
    for (const Shard& shard : sequence.next()) batches.push_back(make_batch(shard, step, batches.size()));
    units += units_of(batches);
    cost += trainer.step(batches, learning_rate(options, step),
                         stream_seed(stream_seed(options.batches.seed, "dropout"), step));
    ++costs;
    const std::size_t done = step + 1;
    std::optional<std::string> measured;
    if (measure && options.measure_every > 0 && (done % options.measure_every == 0 || done == options.steps)) {
      const Measurement measurement = measure(trainer, done);
      remember(checkpoint, options.name, done, measurement.json);
      measured = measurement.words;
    }
    if (report && (measured || seconds_since(reported) > 1.0 || done == options.steps)) {
      const double elapsed = seconds_since(start);
      const auto here = static_cast<double>(done - first);
      report({options.name, done, options.steps, cost / static_cast<double>(costs),
              batches.front().pixels.empty() ? "tokens" : "pictures", static_cast<double>(units) / elapsed,
              elapsed / here * static_cast<double>(options.steps - done), measured});
      reported = Clock::now();
      cost = 0.0;
      costs = 0;
    }
    if (seconds_since(saved) > options.checkpoint_seconds) save(done);
  }
  save(options.steps);
}

}  // namespace attnflow
