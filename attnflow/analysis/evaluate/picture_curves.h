// The deletion and insertion curves of one picture, by every order of its patches that evaluate_image.h measures.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_image.h"
#include "attnflow/analysis/image/patch_curves.h"
#include "attnflow/analysis/loaded_model.h"
#include "attnflow/image/picture.h"

namespace attnflow {

// A method, over a mixing if it aggregates layers, or the check.
struct PatchOrder {
  std::string method;
  std::optional<Mixing> mixing;
};

// By mixing and method, then those outside the graph, then the check. Mixings are resolved.
std::vector<PatchOrder> patch_orders(const ImageEvaluationOptions& options);

struct PictureCurves {
  std::vector<double> probabilities;  // of the classes, of the whole picture
  std::vector<std::size_t> points;    // of the curves: patches removed
  std::vector<PatchCurves> curves;    // one for each order, then random
};

class PictureScorer {
 public:
  // `options`: mixings and layers are resolved. The arguments must outlive the scorer. Throws Error(kUnsupportedModel)
  // for methods that the model does not support.
  PictureScorer(const ImageModel& model, const ImageEvaluationOptions& options);

  // `index`: the picture's place in its set, which with the seed determines the random orders.
  PictureCurves score(const Picture& picture, const PictureSet::Entry& entry, std::size_t index) const;

  // Makes the graph of one mixing, to see whether the model supports it.
  void attempt(const Picture& picture, const PictureSet::Entry& entry, Mixing mixing) const;

 private:
  struct PatchValues {
    std::vector<double> values;
    std::vector<double> gaps;
  };
  class Prepared;

  std::vector<PatchValues> values_of_orders(const Prepared& prepared) const;

  const ImageModel& model_;
  const ImageEvaluationOptions& options_;
};

}  // namespace attnflow
