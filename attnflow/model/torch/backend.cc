// The functions that libattnflow_torch.so exports: see attnflow/model/backend.h.
#include "attnflow/model/backend.h"

#include "attnflow/model/torch/decoder.h"
#include "attnflow/model/torch/encoder.h"

extern "C" const char* attnflow_backend_abi() { return attnflow::kBackendAbi; }

extern "C" void attnflow_backend_create_encoder(const attnflow::EncoderWeights& weights,
                                                const attnflow::LoadOptions& options,
                                                std::unique_ptr<attnflow::Encoder>& encoder) {
  encoder = attnflow::make_torch_encoder(weights, options);
}

extern "C" void attnflow_backend_create_vision(const attnflow::EncoderWeights& weights,
                                               const attnflow::LoadOptions& options,
                                               std::unique_ptr<attnflow::VisionModel>& model) {
  model = attnflow::make_torch_vision(weights, options);
}

extern "C" void attnflow_backend_create_decoder(const attnflow::DecoderWeights& weights,
                                                const attnflow::LoadOptions& options,
                                                std::unique_ptr<attnflow::Decoder>& decoder) {
  decoder = attnflow::make_torch_decoder(weights, options);
}
