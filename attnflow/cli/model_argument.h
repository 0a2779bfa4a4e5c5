// Resolves a command's model argument.
#pragma once

#include <optional>
#include <string>

#include "attnflow/files/folder.h"
#include "attnflow/model/model_files.h"

namespace attnflow {

// Supported vision models in a folder, for help and messages.
inline constexpr const char* kVisionFamilies = "ViT, DeiT, DINOv2, DINOv3, BEiT, data2vec-vision, CLIP or SigLIP";

// Resolves a built-in model's name or a path as find_model() does, which defines the precedence. If the current
// directory holds a folder of that name, a note on standard error says how to refer to it.
Folder resolve_model(const std::string& reference);

// A GGUF file, or a reference that resolve_model() accepts.
ModelFiles open_model(const std::string& reference, const OpenOptions& options);

// Open the model for a text or an image; without `reference`, the first suitable built-in one. Throw Error(kUsage) if
// there is none, or if the named model takes the other kind of input.
ModelFiles open_text_model(const std::optional<std::string>& reference, const OpenOptions& options);
ModelFiles open_image_model(const std::optional<std::string>& reference, const OpenOptions& options);

}  // namespace attnflow
