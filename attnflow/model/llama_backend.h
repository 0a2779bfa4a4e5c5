// The backend for GGUF files.
#ifndef ATTNFLOW_MODEL_LLAMA_BACKEND_H_
#define ATTNFLOW_MODEL_LLAMA_BACKEND_H_

#include "attnflow/model/backend.h"

namespace attnflow::internal {

// Opened once and never closed. Throws as open_backend().
const Backend& llama_backend();

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_LLAMA_BACKEND_H_
