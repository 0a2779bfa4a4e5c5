// From pixels to what the first layer of a vision transformer is given.
//
// Shapes: B pictures of [C, h, w] numbers, patches of p_h x p_w of them, so R = h / p_h rows and S = w / p_w columns of
// patches; H the hidden size, T the number of tokens: those before the patches and R S.
#ifndef ATTNFLOW_MODEL_TORCH_IMAGE_EMBEDDING_H_
#define ATTNFLOW_MODEL_TORCH_IMAGE_EMBEDDING_H_

#include <ATen/ATen.h>

#include "attnflow/model/model_config.h"
#include "attnflow/model/torch/encoder_tensors.h"

namespace attnflow::internal {

// The patches of pictures [B, C, h, w] row by row, each as the numbers that the convolution of its patch multiplies:
// [B, R S, C p_h p_w].
at::Tensor cut_patches(const ImageInfo& image, const at::Tensor& pixels);

// The convolution as a linear map of such patches: [H, C p_h p_w].
Linear patch_map(const ImageTensors& tensors);

// Patches [B, R S, H] with the tokens before them, and positions added: [B, T, H]. On the grid of the training pictures
// positions are those that are stored; on another they are interpolated (PositionResampling), from the grid that
// config.json states. Registers have no position.
at::Tensor join_tokens(const ModelConfig& config, const ImageTensors& tensors, const at::Tensor& patches,
                       std::int64_t rows, std::int64_t columns);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_IMAGE_EMBEDDING_H_
