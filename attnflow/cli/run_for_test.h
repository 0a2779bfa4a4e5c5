// Runs the attnflow command in a test's process.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/cli/attnflow.h"

namespace attnflow {

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

// A nameless temporary file.
class TestStream {
 public:
  explicit TestStream(std::string_view contents = {}) : file_(std::tmpfile(), &std::fclose) {
    if (file_ == nullptr) throw std::runtime_error("no temporary file");
    std::fwrite(contents.data(), 1, contents.size(), file_.get());
    std::rewind(file_.get());
  }
  std::FILE* get() const { return file_.get(); }
  int descriptor() const { return ::fileno(file_.get()); }
  std::string contents() const {
    std::fflush(file_.get());
    std::rewind(file_.get());
    std::string text;
    char chunk[1 << 12];
    while (const std::size_t read = std::fread(chunk, 1, sizeof chunk, file_.get())) text.append(chunk, read);
    return text;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

// Redirects the process's standard output (for -o -) to a file during this object's life.
class StandardOutput {
 public:
  explicit StandardOutput(int descriptor) : before_((std::fflush(stdout), ::dup(STDOUT_FILENO))) {
    if (before_ < 0 || ::dup2(descriptor, STDOUT_FILENO) < 0) throw std::runtime_error("no standard output");
  }
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;
  ~StandardOutput() {
    ::dup2(before_, STDOUT_FILENO);
    ::close(before_);
  }

 private:
  int before_;
};

inline Ran run_in_process(std::vector<std::string> arguments, std::string_view input = {}) {
  const TestStream in(input);
  const TestStream out;
  const TestStream err;
  Ran ran;
  {
    const StandardOutput redirected(out.descriptor());
    ran.code = run_attnflow(std::move(arguments), {in.get(), out.get(), err.get()});
  }
  ran.out = out.contents();
  ran.err = err.contents();
  return ran;
}

}  // namespace attnflow
