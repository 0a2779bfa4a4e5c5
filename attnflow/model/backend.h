// The seam between the loader and a backend: a shared object that is opened when a model needs it.
//
// A backend exports three C functions. The first returns the text kBackendAbi that it was built with; the loader
// compares it with its own before it calls anything else, so that a backend of another version is refused and not
// misread. The others make a model, or a trainer, from weights that are already found and checked. A backend is built
// by the same compiler against the same headers as the loader, so the types below cross the seam as they are,
// exceptions included, and it stays loaded until the program ends.
#ifndef ATTNFLOW_MODEL_BACKEND_H_
#define ATTNFLOW_MODEL_BACKEND_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attnflow/base/version.h"
#include "attnflow/model/encoder_weights.h"
#include "attnflow/model/model.h"
#include "attnflow/model/trainer.h"

namespace attnflow {

// Raise the number after "abi" whenever a type that crosses the seam changes.
inline constexpr const char* kBackendAbi = "attnflow " ATTNFLOW_VERSION ", backend abi 2";

inline constexpr const char* kBackendAbiSymbol = "attnflow_backend_abi";
inline constexpr const char* kBackendCreateSymbol = "attnflow_backend_create_encoder";
inline constexpr const char* kBackendTrainerSymbol = "attnflow_backend_create_trainer";

// Types of the exported functions.
using BackendAbiFunction = const char*();
using BackendCreateFunction = void(const EncoderWeights& weights, const LoadOptions& options,
                                   std::unique_ptr<Model>& model);
using BackendTrainerFunction = void(const EncoderWeights& weights, const TrainerOptions& options,
                                    std::unique_ptr<Trainer>& trainer);

struct Backend {
  BackendCreateFunction* create = nullptr;
  BackendTrainerFunction* create_trainer = nullptr;
};

// Where backends are looked for, in this order: the folder in the environment variable ATTNFLOW_BACKEND_DIR, the
// folder of the running program, and ../lib/attnflow from there, where `cmake --install` puts them.
std::vector<std::filesystem::path> backend_folders();

// Opens `file_name` in the first of `folders` that holds it. Throws Error(kUnsupportedModel): none does (the message
// says where it looked), it cannot be opened, or it was built for another version.
Backend open_backend(const std::string& file_name, const std::vector<std::filesystem::path>& folders);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_BACKEND_H_
