// Which keys a query attends to: the mask of a model's attention, without windows.
//
// Definition. For query q of n tokens, keys count from 0:
//
//     all       0 ... n - 1
//     causal    0 ... q
//     joint     in an encoder-decoder's graph (TargetInfo of model/model.h) with s source tokens and E encoder layers
//
//                   layers               source tokens    target tokens
//                   1 ... E              0 ... s - 1      q
//                   E + 1, E + 3, ...    q                s ... q
//                   E + 2, E + 4, ...    q                0 ... s - 1
//
// Example:
//
//     const AttentionMask mask = AttentionMask::joint(2, 1);  // two source tokens, one encoder layer
//     assert(mask.keys(1, 0, 4).end == 2);                    // the encoder reads the source
//     assert(mask.keys(2, 3, 4).begin == 2 && mask.keys(2, 3, 4).size() == 2);  // the target, up to its last token
//     assert(mask.keys(3, 3, 4).contains(1) && !mask.keys(3, 3, 4).contains(2));
//     assert(AttentionMask(true).keys(1, 2, 4).size() == 3);  // causal
#pragma once

#include <cstddef>

namespace attnflow {

class AttentionMask {
 public:
  // All or causal, in every layer.
  AttentionMask(bool causal = false) : causal_(causal) {}  // NOLINT(google-explicit-constructor)
  static AttentionMask joint(std::size_t source, std::size_t encoder_layers) {
    AttentionMask mask;
    mask.source_ = source;
    mask.encoder_layers_ = encoder_layers;
    return mask;
  }

  // A range of at least one key.
  struct Keys {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t size() const { return end - begin; }
    bool contains(std::size_t key) const { return begin <= key && key < end; }
  };

  // `layer` from 1.
  Keys keys(std::size_t layer, std::size_t query, std::size_t tokens) const {
    if (source_ == 0) return {0, causal_ ? query + 1 : tokens};
    const bool is_encoder = layer <= encoder_layers_;
    if (is_encoder != (query < source_)) return {query, query + 1};
    const bool to_target = !is_encoder && (layer - encoder_layers_) % 2 == 1;
    return to_target ? Keys{source_, query + 1} : Keys{0, source_};
  }

  bool varies_by_layer() const { return source_ > 0; }

 private:
  bool causal_;
  std::size_t source_ = 0;  // 0: not joint
  std::size_t encoder_layers_ = 0;
};

}  // namespace attnflow
