#include "attnflow/model/torch/image_embedding.h"

#include <vector>

namespace attnflow::internal {

namespace {

// Resamples the stored positions [1, rows * columns, H] of the training grid to another grid.
at::Tensor resample(const at::Tensor& positions, std::int64_t from_rows, std::int64_t from_columns, std::int64_t rows,
                    std::int64_t columns, PositionResampling resampling) {
  const at::Tensor grid = positions.view({1, from_rows, from_columns, -1}).permute({0, 3, 1, 2}).contiguous();
  const std::vector<std::int64_t> size = {rows, columns};
  const at::Tensor resized = resampling == PositionResampling::kBicubicAntialiased
                                 ? at::_upsample_bicubic2d_aa(grid, at::IntArrayRef(size), /*align_corners=*/false)
                                 : at::upsample_bicubic2d(grid, at::IntArrayRef(size), /*align_corners=*/false);
  return resized.permute({0, 2, 3, 1}).reshape({1, rows * columns, -1});
}

at::Tensor positions_of_patches(const ModelConfig& config, const ImageTensors& tensors, std::int64_t rows,
                                std::int64_t columns) {
  const ImageInfo& image = *config.image;
  const std::int64_t trained_rows = to_signed(image.rows());
  const std::int64_t trained_columns = to_signed(image.columns());
  const std::int64_t trained = trained_rows * trained_columns;
  const std::int64_t placed = tensors.position.size(1) - trained;  // tokens before the patches that have a position
  const at::Tensor positions = tensors.position.narrow(1, placed, trained);
  if (rows == trained_rows && columns == trained_columns) return positions;
  return resample(positions, trained_rows, trained_columns, rows, columns, config.architecture->image->resampling);
}

}  // namespace

at::Tensor cut_patches(const ImageInfo& image, const at::Tensor& pixels) {
  const std::int64_t count = pixels.size(0);
  const std::int64_t channels = pixels.size(1);
  const std::int64_t height = to_signed(image.patch_height);
  const std::int64_t width = to_signed(image.patch_width);
  const std::int64_t rows = pixels.size(2) / height;
  const std::int64_t columns = pixels.size(3) / width;
  return pixels.reshape({count, channels, rows, height, columns, width})
      .permute({0, 2, 4, 1, 3, 5})
      .reshape({count, rows * columns, channels * height * width});
}

Linear patch_map(const ImageTensors& tensors) {
  Linear map;
  map.weight = tensors.patches.weight.view({tensors.patches.weight.size(0), -1});
  map.bias = tensors.patches.bias;
  return map;
}

at::Tensor join_tokens(const ModelConfig& config, const ImageTensors& tensors, const at::Tensor& patches,
                       std::int64_t rows, std::int64_t columns) {
  const std::int64_t count = patches.size(0);
  at::Tensor placed_patches = patches;
  if (tensors.position.defined()) placed_patches = patches + positions_of_patches(config, tensors, rows, columns);
  const auto token = [&](const at::Tensor& one, std::int64_t position) {  // [B, 1, H]
    const at::Tensor placed = tensors.position.defined() ? one + tensors.position.narrow(1, position, 1) : one;
    return placed.expand({count, 1, -1});
  };
  std::vector<at::Tensor> tokens;
  if (tensors.class_token.defined()) tokens.push_back(token(tensors.class_token, 0));
  if (tensors.distillation_token.defined()) tokens.push_back(token(tensors.distillation_token, 1));
  if (tensors.register_tokens.defined()) tokens.push_back(tensors.register_tokens.expand({count, -1, -1}));
  tokens.push_back(placed_patches);
  return at::cat(tokens, 1);
}

}  // namespace attnflow::internal
