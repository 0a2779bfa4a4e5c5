#include "attnflow/files/command_files.h"

#include <gtest/gtest.h>

#include "attnflow/files/atomic_file.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/files/folder.h"

namespace attnflow::command_files_test {
namespace {

using internal::CommandFiles;
using test::expect_error;
using test::get;
using test::put;
using test::TempFolder;

class CommandFilesTest : public testing::Test {
 protected:
  CommandFilesTest() {
    put(folder_ / "input", "precious");
    std::filesystem::create_directory(folder_ / "sub");
    std::filesystem::create_symlink("../input", folder_ / "sub/link");
    std::filesystem::create_hard_link(folder_ / "input", folder_ / "hard");
    std::filesystem::create_symlink("sub", folder_ / "way");
  }

  std::vector<std::filesystem::path> names() const {
    return {folder_ / "input",    folder_ / "./input",  folder_ / "sub/../input",
            folder_ / "sub/link", folder_ / "way/link", folder_ / "hard"};
  }

  TempFolder folder_;
};

TEST_F(CommandFilesTest, AnOutputOverAnInputIsRefusedBeforeTheWork) {
  for (const auto& name : names()) {
    CommandFiles files;
    files.say_how_to_replace("--force");
    files.add_output(name);
    expect_error(ErrorKind::kUsage,
                 {name.string(), "different from the inputs", (folder_ / "input").string(), "--force"},
                 [&] { (void)read_file(folder_ / "input"); });
  }
  for (const auto& name : names()) {
    CommandFiles files;
    (void)read_file(name);
    expect_error(ErrorKind::kUsage, {"different from the inputs"}, [&] { files.add_output(folder_ / "input"); });
  }
}

TEST_F(CommandFilesTest, AnOutputThatWasNotNamedIsRefusedWhenItIsWritten) {
  const CommandFiles files;
  for (const auto& name : names()) (void)read_file(name);
  for (const auto& name : names()) {
    expect_error(ErrorKind::kUsage, {"different from the inputs"}, [&] { write_file(name, "gone"); });
  }
  EXPECT_EQ(get(folder_ / "input"), "precious");
  EXPECT_EQ(folder_.names().size(), 4U);
}

TEST_F(CommandFilesTest, ReplacingAnInputOnRequest) {
  CommandFiles files;
  files.allow_replacing_inputs();
  files.add_output(folder_ / "input");
  expect_error(ErrorKind::kUsage, {"different files"}, [&] { files.add_output(folder_ / "./input"); });
  EXPECT_EQ(read_file(folder_ / "input"), "precious");
  write_file(folder_ / "input", "new");
  EXPECT_EQ(get(folder_ / "input"), "new");
}

TEST_F(CommandFilesTest, TwoOutputsAreTwoFiles) {
  std::filesystem::create_symlink("../new", folder_ / "sub/new_link");
  for (const char* other : {"new", "./new", "sub/../new", "way/../new", "sub/new_link"}) {
    CommandFiles files;
    files.add_output(folder_ / "new");
    files.add_output(folder_ / "newer");
    expect_error(ErrorKind::kUsage, {"different files", (folder_ / other).string()},
                 [&] { files.add_output(folder_ / other); });
  }
  CommandFiles files;
  for (const auto& name : {"new", "sub/new", "input"}) files.add_output(folder_ / name);
  files.add_output("/dev/null");
  files.add_output("/dev/null");
}

TEST_F(CommandFilesTest, FilesThatAreReplacedAreNotInTheWay) {
  CommandFiles files;
  files.add_output(folder_ / "old");
  files.add_output(put(folder_ / "older", "x"));
  (void)read_file(folder_ / "input");
  write_file(folder_ / "old", "1");
  write_file(folder_ / "older", "2");
  write_file(folder_ / "older", "3");
  EXPECT_EQ(get(folder_ / "older"), "3");
}

TEST_F(CommandFilesTest, OwnFilesAreReadAndWritten) {
  CommandFiles files;
  files.add_work_folder(folder_ / "way");
  put(folder_ / "sub/checkpoint", "1");
  (void)read_file(folder_ / "sub/checkpoint");
  write_file(folder_ / "sub/checkpoint", "2");
  EXPECT_EQ(get(folder_ / "sub/checkpoint"), "2");
  (void)read_file(folder_ / "input");
  EXPECT_THROW(write_file(folder_ / "input", "gone"), Error);
}

TEST_F(CommandFilesTest, OwnFilesInAFolderThatIsYetToComeAndHasNoFullPath) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  {
    CommandFiles files;
    files.add_work_folder("out/training");
    std::filesystem::create_directories("out/training");
    put("out/training/checkpoint", "1");
    (void)read_file("out/training/checkpoint");
    EXPECT_NO_THROW(write_file("out/training/checkpoint", "2"));
  }
  std::filesystem::current_path(before);
}

TEST_F(CommandFilesTest, FilesBesideAModelsConfigAreItsOwn) {
  put(folder_ / "config.json", "{}");
  put(folder_ / "README.md", "licence");
  for (const bool output_first : {true, false}) {
    CommandFiles files;
    files.add_output(folder_ / "new.json");
    const auto both = [&](bool output) {
      if (output) {
        files.add_output(folder_ / "sub/../README.md");
      } else {
        (void)Folder(folder_.path()).read("config.json");
      }
    };
    both(output_first);
    expect_error(ErrorKind::kUsage, {"README.md", "different from the inputs"}, [&] { both(!output_first); });
  }
}

TEST_F(CommandFilesTest, OutputsOfEarlierRunsMayLieBesideAModelsConfig) {
  put(folder_ / "config.json", "{}");
  put(folder_ / "key.json", "of the last run");
  CommandFiles files;
  files.add_output(folder_ / "key.json");
  EXPECT_NO_THROW((void)Folder(folder_.path()).read("config.json"));
}

TEST_F(CommandFilesTest, AnOutputHasAName) {
  CommandFiles files;
  expect_error(ErrorKind::kUsage, {"found an empty one"}, [&] { files.add_output(""); });
  std::filesystem::create_symlink("circle", folder_ / "circle");
  expect_error(ErrorKind::kOther, {"circle: cannot write", "is circular"},
               [&] { files.add_output(folder_ / "circle"); });
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "circle"));
}

TEST_F(CommandFilesTest, WithoutAListNothingIsRefused) {
  EXPECT_EQ(internal::command_files(), nullptr);
  (void)read_file(folder_ / "input");
  write_file(folder_ / "input", "new");
  EXPECT_EQ(get(folder_ / "input"), "new");
}

}  // namespace
}  // namespace attnflow::command_files_test
