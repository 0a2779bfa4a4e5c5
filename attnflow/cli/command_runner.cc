// Runs attnflow commands in one process for the Python tests of tests/cli, since a process per command spends most of
// its time loading libraries.
//
// A request is a line of JSON, {"folder": ..., "arguments": [...], "input": SIZE}, and SIZE bytes of standard input;
// the command runs in that folder. The answer is a line "CODE SIZE SIZE" and the command's standard output and standard
// error. Ends at the end of input.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnflow/cli/run_for_test.h"
#include "attnflow/model/blas_kernels.h"

namespace {

bool read_line(std::string& line) {
  line.clear();
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    if (c == '\n') return true;
    line += static_cast<char>(c);
  }
  return false;
}

}  // namespace

int main() {
  attnflow::choose_blas_kernels();
  try {
    for (std::string line; read_line(line);) {
      const nlohmann::json request = nlohmann::json::parse(line);
      std::string input(request.at("input").get<std::size_t>(), '\0');
      if (std::fread(input.data(), 1, input.size(), stdin) != input.size()) return 1;
      std::filesystem::current_path(request.at("folder").get<std::string>());
      const attnflow::Ran ran =
          attnflow::run_in_process(request.at("arguments").get<std::vector<std::string>>(), input);
      std::printf("%d %zu %zu\n", ran.code, ran.out.size(), ran.err.size());
      std::fwrite(ran.out.data(), 1, ran.out.size(), stdout);
      std::fwrite(ran.err.data(), 1, ran.err.size(), stdout);
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attnflow_command_runner: %s\n", error.what());
    return 1;
  }
  return 0;
}
