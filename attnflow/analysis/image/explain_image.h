// Which patches of a picture did a vision model draw on?
//
// The picture goes through the model's own preprocessing (image/image_processor.h) and becomes a grid of patches, each
// a token, behind tokens that stand for no place: the class token, DeiT's distillation token, DINOv2's registers. From
// there on a picture is explained as a text is, and the report says where in the picture each token lies.
#pragma once

#include <string>

#include "attnflow/analysis/explain/explain.h"
#include "attnflow/image/image_processor.h"
#include "attnflow/image/picture.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"

namespace attnflow {

// What the model is given, the tokens that it makes of it, and where they lie.
struct ImageInput {
  PixelInput input;
  std::vector<InputToken> tokens;
  ReportImage image;
};

// `name` is the picture's, for titles. A strip on the right or below that makes no whole patch is left out. Throws as
// pixel_values() does.
ImageInput image_input(const Picture& picture, const std::string& name, const ImageProcessor& processor,
                       const ModelInfo& info);

// Tokens are named "[CLS]", "[DIST]", "[REG 1]" and "3,4": the patch of row 3 and column 4, from 0. Words, certificates
// and the rest of the options mean what they mean for a text; those for text alone (words, candidates, referents) are
// Error(kUsage).
Report explain_image(VisionModel& model, const ImageProcessor& processor, const Picture& picture,
                     const std::string& name, const ExplainOptions& given);

}  // namespace attnflow
