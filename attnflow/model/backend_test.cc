#include "attnflow/model/backend.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "attnflow/base/error.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/model_for_test.h"

namespace attnflow::backend_test {
namespace {

using test::expect_error;

TEST(ModelFiles, ChecksTheDeviceBeforeOpeningABackend) {
  const std::filesystem::path folder = test::golden_models() / "bert_base";
  for (const std::string device : {"", "gpu", "cuda:", "cuda:x", "cuda:1000", "cuda:-1", "CPU"}) {
    expect_error(ErrorKind::kUsage, {"cpu, cuda or cuda:N", "\"" + device + "\""},
                 [&] { ModelFiles(folder).load_encoder({.device = device}); });
  }
}

TEST(ModelFiles, ChecksTheFilesBeforeOpeningABackend) {
  expect_error(ErrorKind::kBadFile, {"no such folder"}, [] { ModelFiles("no such folder"); });
}

TEST(Backend, IsLookedForInTheOrderThatTheMessageSays) {
  const test::TempFolder first;
  const test::TempFolder second;
  const test::TempFolder empty;
  expect_error(ErrorKind::kUnsupportedModel,
               {"libsome.so", first.path().string() + ", " + empty.path().string(), "ATTNFLOW_BACKEND_DIR",
                "ATTNFLOW_TORCH", "--attention"},
               [&] {
                 open_backend("libsome.so", {first.path(), empty.path()});
               });
  test::put(second / "libsome.so", "not a library");
  expect_error(ErrorKind::kUnsupportedModel, {(second / "libsome.so").string(), "cannot be opened"}, [&] {
    open_backend("libsome.so", {first.path(), second.path()});
  });
}

TEST(Backend, OfAnotherVersionIsRefused) {
  const std::filesystem::path wrong = ATTNFLOW_WRONG_ABI_BACKEND;
  expect_error(ErrorKind::kUnsupportedModel,
               {kBackendAbi, "found one for \"attnflow 0.0.1, backend abi 0\"", "same build"},
               [&] { open_backend(wrong.filename().string(), {wrong.parent_path()}); });
}

TEST(Backend, FoldersAreTheVariableTheProgramsAndTheInstalled) {
  ::unsetenv("ATTNFLOW_BACKEND_DIR");
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::vector<std::filesystem::path> usual = backend_folders();
  EXPECT_EQ(usual, (std::vector<std::filesystem::path>{program, program.parent_path() / "lib" / "attnflow"}));
  ::setenv("ATTNFLOW_BACKEND_DIR", "/somewhere", 1);
  EXPECT_EQ(backend_folders(), (std::vector<std::filesystem::path>{"/somewhere", usual.at(0), usual.at(1)}));
  ::unsetenv("ATTNFLOW_BACKEND_DIR");
}

}  // namespace
}  // namespace attnflow::backend_test
