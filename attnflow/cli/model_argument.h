// The model that a command's argument stands for.
#ifndef ATTNFLOW_CLI_MODEL_ARGUMENT_H_
#define ATTNFLOW_CLI_MODEL_ARGUMENT_H_

#include <string>

#include "attnflow/files/folder.h"

namespace attnflow {

// A built-in model's name, or a path: find_model(), which says what wins. Where a folder of a built-in model's name
// lies in the current one, a note on standard error says how to mean that.
Folder resolve_model(const std::string& reference);

// The model of a text, or of a picture, for which none is named: the first one built in that takes such. Throws
// Error(kUsage) when there is none.
Folder default_model();
Folder default_image_model();

}  // namespace attnflow

#endif  // ATTNFLOW_CLI_MODEL_ARGUMENT_H_
