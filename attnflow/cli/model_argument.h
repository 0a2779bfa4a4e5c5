// The model that a command's argument stands for.
#ifndef ATTNFLOW_CLI_MODEL_ARGUMENT_H_
#define ATTNFLOW_CLI_MODEL_ARGUMENT_H_

#include <optional>
#include <string>

#include "attnflow/files/folder.h"
#include "attnflow/model/model_files.h"

namespace attnflow {

// What help and messages call the vision models of a folder.
inline constexpr const char* kVisionFamilies = "ViT, DeiT, DINOv2, DINOv3, BEiT, data2vec-vision, CLIP or SigLIP";

// A built-in model's name, or a path: find_model(), which says what wins. Where a folder of a built-in model's name
// lies in the current one, a note on standard error says how to mean that.
Folder resolve_model(const std::string& reference);

// The model, opened: a GGUF file, or what resolve_model() takes.
ModelFiles open_model(const std::string& reference, const OpenOptions& options);

// The model of a text, or of an image: where none is named, the first one built in that takes such. Throw Error(kUsage)
// when there is none, or the one named takes the other.
ModelFiles open_text_model(const std::optional<std::string>& reference, const OpenOptions& options);
ModelFiles open_image_model(const std::optional<std::string>& reference, const OpenOptions& options);

}  // namespace attnflow

#endif  // ATTNFLOW_CLI_MODEL_ARGUMENT_H_
