// Converts pixels to the input of a vision transformer's first layer.
//
// Shapes: B images of [C, h, w] numbers, patches of p_h x p_w, so R = h / p_h rows and S = w / p_w columns; H is the
// hidden size; T is the number of tokens: R S, plus those before the patches.
#pragma once

#include <ATen/ATen.h>

#include "attnflow/model/model_config.h"
#include "attnflow/model/torch/model_tensors.h"

namespace attnflow::internal {

// Cuts images [B, C, h, w] into patches, row by row, each as the numbers that its convolution multiplies: [B, R S, C
// p_h p_w].
at::Tensor cut_patches(const ImageInfo& image, const at::Tensor& pixels);

// Returns the convolution as a linear map of such patches: [H, C p_h p_w].
Linear patch_map(const ImageTensors& tensors);

// Returns patches [B, R S, H] with the preceding tokens, and positions added: [B, T, H]. For a grid other than the
// training grid, stored positions are interpolated (PositionResampling) from the grid that config.json gives. Registers
// have no position.
at::Tensor join_tokens(const ModelConfig& config, const ImageTensors& tensors, const at::Tensor& patches,
                       std::int64_t rows, std::int64_t columns);

}  // namespace attnflow::internal
