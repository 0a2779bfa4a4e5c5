// Resolves Mixing::kAuto for a loaded model (explain/mixing_choice.h).
#pragma once

#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/explain/mixing_choice.h"
#include "attnflow/model/model.h"

namespace attnflow {

void choose_mixing(Settings& settings, TextModel& model, const DefaultQuestion& question, std::vector<Note>& notes);

// The same for an image.
void choose_mixing_of_image(Settings& settings);

}  // namespace attnflow
