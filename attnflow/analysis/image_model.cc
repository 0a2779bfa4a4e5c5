#include "attnflow/analysis/image_model.h"

#include <fmt/format.h>

#include "attnflow/base/error.h"
#include "attnflow/model/image_info.h"
#include "attnflow/model/model_input.h"

namespace attnflow {
namespace {

constexpr const char* kProcessorFile = "preprocessor_config.json";

}  // namespace

ImageModel load_image_model(const ModelFiles& files, const LoadOptions& options) {
  // Small things first, as for a text.
  const ModelInfo& info = files.info();
  check_takes_pictures(info);
  const Folder& folder = *files.folder();
  if (!folder.has(kProcessorFile)) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("{}: expected a file {}, which describes how images are preprocessed, found none; copy it "
                            "from the model's source, where it is next to config.json",
                            folder.label(), kProcessorFile));
  }
  ImageProcessorOptions processor;
  processor.channels = info.image->channels;
  processor.model_type = info.architecture;
  ImageModel result;
  result.processor = read_image_processor(folder.read(kProcessorFile), folder.label(kProcessorFile), processor);
  result.model = files.load_vision(options);
  return result;
}

}  // namespace attnflow
