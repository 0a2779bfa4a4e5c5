// Which patches of a picture did a vision model draw on?
//
// The picture goes through the model's own preprocessing (image/image_processor.h) and becomes a grid of patches, each
// a token, after tokens that stand for no place: the class token, DeiT's distillation token, DINOv2's registers. After
// that a picture is explained as a text is, and the report gives each token's place in the picture.
#pragma once

#include <string>

#include "attnflow/analysis/text/explain_text.h"
#include "attnflow/image/image_processor.h"
#include "attnflow/image/picture.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"

namespace attnflow {

// The model's input, its tokens, and their places.
struct ImageInput {
  PixelInput input;
  std::vector<InputToken> tokens;
  ReportImage image;
};

// `name` is the picture's, for titles. Leaves out a strip on the right or below that makes no whole patch. Throws as
// pixel_values() does.
ImageInput image_input(const Picture& picture, const std::string& name, const ImageProcessor& processor,
                       const ModelInfo& info);

// A picture, and how a report shows it: a PNG file, possibly reduced.
struct PictureGiven {
  const Picture& picture;
  std::string name;
  std::string png;
  std::size_t png_width = 0;
  std::size_t png_height = 0;
};

// Reduces the picture to what a page has room for (shown_picture.cc).
PictureGiven shown_picture(const Picture& picture, std::string name);

// Tokens are named "[CLS]", "[DIST]", "[REG 1]" and "3,4": the patch of row 3 and column 4, from 0. Options mean what
// they mean for a text; those for text alone (words, candidates, referents) are Error(kUsage).
Report explain_image(VisionModel& model, const ImageProcessor& processor, const PictureGiven& given,
                     const ExplainOptions& options);

}  // namespace attnflow
