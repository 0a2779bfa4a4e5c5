// A vision model with the preprocessing that belongs to it.
#ifndef ATTNFLOW_ANALYSIS_IMAGE_MODEL_H_
#define ATTNFLOW_ANALYSIS_IMAGE_MODEL_H_

#include <memory>

#include "attnflow/image/image_processor.h"
#include "attnflow/model/model_files.h"

namespace attnflow {

struct ImageModel {
  std::unique_ptr<VisionModel> model;
  ImageProcessor processor;
};

// The model and what its preprocessor_config.json says. Errors as ModelFiles::load_vision's; Error(kUsage) for a model
// of text, Error(kBadFile) where the folder holds no preprocessor_config.json.
ImageModel load_image_model(const ModelFiles& files, const LoadOptions& options = {});

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_IMAGE_MODEL_H_
