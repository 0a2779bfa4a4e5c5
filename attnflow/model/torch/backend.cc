// The function that libattnflow_torch.so exports: see attnflow/model/backend.h.
#include "attnflow/model/backend.h"

#include "attnflow/model/torch/make_models.h"

extern "C" const attnflow::Backend* attnflow_backend() {
  static constexpr attnflow::Backend backend = {.encoder = attnflow::make_torch_encoder,
                                                .vision = attnflow::make_torch_vision,
                                                .decoder = attnflow::make_torch_decoder,
                                                .encoder_decoder = attnflow::make_torch_encoder_decoder};
  return &backend;
}
