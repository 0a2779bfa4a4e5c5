// The reference for measuring `attnflow explain`: links libtorch like any other program, runs the encoder once, keeps
// no attention, and prints the process's peak memory.
//
//   attnflow_bare_forward MODEL_FOLDER TOKENS   (an image model ignores TOKENS and gets a black image)
#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/model/model_weights.h"
#include "attnflow/model/torch/make_models.h"

namespace {

int run(const std::string& folder, std::size_t tokens) {
  const attnflow::ModelWeights weights =
      attnflow::find_weights(folder, attnflow::read_model_config(folder, attnflow::ArchitectureKind::kEncoder));
  if (const auto& image = weights.info.image) {
    tokens = 0;
    const auto model = attnflow::make_torch_vision(weights, {});
    model->run({attnflow::Tensor<float>({image->channels, image->height, image->width})}, nullptr);
  } else {
    // A stride coprime to most vocabulary sizes spreads the tokens over the table.
    constexpr std::size_t kStride = 7919;
    attnflow::TextInput input;
    for (std::size_t i = 0; i < tokens; ++i) {
      input.ids.push_back(static_cast<std::int64_t>((i + 1) * kStride % weights.info.vocabulary));
    }
    attnflow::make_torch_encoder(weights, {})->run(input, nullptr);
  }

  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{{\"tokens\": {}, \"peak_memory_kib\": {}}}\n", tokens, usage.ru_maxrss);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t tokens = 0;
  if (argc == 3) std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), tokens);
  if (tokens == 0) {
    fmt::print(stderr, "usage: attnflow_bare_forward MODEL_FOLDER TOKENS\n");
    return static_cast<int>(attnflow::ErrorKind::kUsage);
  }
  try {
    return run(argv[1], tokens);
  } catch (const attnflow::Error& error) {
    fmt::print(stderr, "attnflow_bare_forward: {}\n", error.what());
    return error.exit_code();
  }
}
