// Resolves Mixing::kAuto for a loaded model (explain/mixing_choice.h).
#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/explain/mixing_choice.h"
#include "attnflow/model/model.h"

namespace attnflow {

void choose_mixing(Settings& settings, TextModel& model, const DefaultQuestion& question, std::vector<Note>& notes);
void choose_mixing(Settings& settings, VisionModel& model, const DefaultQuestion& question, std::vector<Note>& notes);

PredictsAt predicts_at(const ModelInfo& info);

}  // namespace attnflow
