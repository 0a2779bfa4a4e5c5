// Measures what a prediction for a picture depends on: each patch is replaced by what could have been there
// (patch_fills.h), and the model predicts again.
//
// Problem. One patch alone is seldom needed: its neighbors show most of what it shows, so without it little changes.
// But of several patches together one does not know which one mattered.
//
// Definition. Each patch is replaced alone, and in blocks of 2 x 2 patches: all four that hold it, those that reach
// over the picture's border cut off there. The value with candidate c in the place of patch j is the mean of both,
//
//     F(x_jc)  =  1/2 F(x with j filled by c)  +  1/2 mean over blocks b that hold j of F(x with b filled by c),
//
// and drops, spreads and the reliability follow from these as for a text (place_drops.h), all candidates counting
// alike. docs/check.md compares patches alone, blocks, candidates and blanking.
//
// Cost: about 2 R C K runs of the model for R x C patches and K candidates, two thirds of that where the second half of
// the candidates is for the patches that may decide. Deterministic.
//
// Reference, for patches judged by the windows that hold them:
//   L. M. Zintgraf, T. S. Cohen, T. Adel and M. Welling, Visualizing Deep Neural Network Decisions: Prediction
//   Difference Analysis, ICLR 2017: https://arxiv.org/abs/1702.04595
#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/analysis/check/place_drops.h"
#include "attnflow/analysis/methods/method_question.h"

namespace attnflow {

// Checks the groups for which `wanted` holds; those that are no patch have no candidate. The question must have the
// picture's grid. Progress is in pictures. Throws as target_values() does; Cancelled.
ReplacementCheck check_patches(const ImageQuestion& question, const std::vector<bool>& wanted);

// The runs of the model that check_patches() usually takes.
double patch_check_runs(const ImageQuestion& question, const std::vector<bool>& wanted);

}  // namespace attnflow
