// The graphs of several mixings (attribution/mixings.h) of one input, from as few passes as possible: one forward pass
// for all that need the model's attention or its layers' terms, and one backward pass for each rule of gradients.
//
// Memory: O(L n^2) for each choice, in addition to the model's. Deterministic.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/attribution/input.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/model/model.h"

namespace attnflow {

template <typename Input>
struct MixedGraphsQuestionOf {
  const Input& input;
  const std::vector<InputToken>& tokens;
  std::size_t position = 0;  // whose logits are wanted: the last of a decoder, any of a masked language model
  ScoreTarget target = {};   // of mixings that have one
  std::optional<ScoreTarget> gradient_target = {};  // of gradient-adjusted attention, where it has one of its own
  std::size_t threads = 0;                          // 0: one per hardware thread
  std::stop_token stop_token = {};
};

using MixedGraphsQuestion = MixedGraphsQuestionOf<TextInput>;
using PictureGraphsQuestion = MixedGraphsQuestionOf<PixelInput>;

struct MixedGraphs {
  Tensor<float> logits;                // of a classifier [classes]; otherwise [vocabulary], at the position
  std::vector<AttentionGraph> graphs;  // one for each choice
};

// `choices`: uses their mixing, residual, column mask and discard, and attention's heads. Throws Error(kUsage) for
// unknown heads or columns, Error(kUnsupportedModel) for an unsupported mixing, and as the model does; Cancelled.
MixedGraphs mixed_graphs(TextModel& model, std::span<const Settings> choices, const MixedGraphsQuestion& question);
MixedGraphs mixed_graphs(VisionModel& model, std::span<const Settings> choices, const PictureGraphsQuestion& question);

Tensor<float> token_logits(TextModel& model, const TextInput& input, std::size_t position,
                           const std::stop_token& stop_token = {});

std::vector<Settings> settings_of_mixings(const Settings& settings, std::span<const Mixing> mixings);

// Empty for all, meaning those that the model supports. Throws Error(kUsage) for an unknown mixing.
std::vector<Mixing> parse_mixings(const std::vector<std::string>& names);

// Throws Error(kUsage) for auto and for repeated mixings.
void check_mixings(std::span<const Mixing> mixings);

// Whether --heads or --residual were chosen, and some of the mixings have none.
bool leaves_heads_or_residual(const Settings& settings, std::span<const Mixing> mixings);

// Returns the mixings among `tried` (empty: all_mixings(), but auto) that a model supports, in their order, and by name
// why the others are not supported. `attempt` makes one graph, such as the first sample's; it throws
// Error(kUnsupportedModel) if that is impossible.
std::pair<std::vector<Mixing>, std::map<std::string, std::string>> possible_mixings(
    const std::function<void(Mixing)>& attempt, std::span<const Mixing> tried = {});

// A method's name over a mixing: "rollout", or "rollout over relevance" if more than attention is compared.
std::string mixed_name(const std::string& method, const std::optional<Mixing>& mixing,
                       std::span<const Mixing> compared);

}  // namespace attnflow
