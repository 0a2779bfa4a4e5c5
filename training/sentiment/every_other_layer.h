// Initializes a DistilBERT from a BERT, as DistilBERT itself was.
//
// Problem. A classifier trained from scratch on a few thousand sentences knows little English. Sanh et al. (2019)
// initialized theirs from BERT, with the same width and half of the layers.
//
// Definition. Layer i of the new model (from 0) is layer 2 i of BERT; word embeddings and the norm after them are
// BERT's. DistilBERT has no token types, so the embedding of type 0, which BERT adds everywhere in a single text, is
// added to that of the position. The classification head is new.
//
// Reference: V. Sanh, L. Debut, J. Chaumond and T. Wolf, DistilBERT, a distilled version of BERT, 2019:
// https://arxiv.org/abs/1910.01108
#pragma once

#include "attnflow/model/model_weights.h"
#include "training/trainer/new_model.h"

namespace attnflow {

// Returns the shape of the DistilBERT initialized from this BERT. Throws Error(kUnsupportedModel) for a model that is
// not a BERT, or has an odd number of layers.
EncoderShape every_other_layer_shape(const ModelWeights& bert);

// Replaces the weights of a model of that shape, stored as `stored` describes, with BERT's. Throws Error(kUsage) for
// another shape; Error(kBadFile) for BERT weights that are not finite.
void take_every_other_layer(WeightMap& weights, const ModelWeights& stored, const ModelWeights& bert);

}  // namespace attnflow
