#include "attnflow/model/model_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "attnflow/base/error.h"

namespace attnflow {

namespace {

void check_picture(const ImageInfo& image, const ModelInfo& info, const ModelInput& input) {
  if (!input.ids.empty() || !input.type_ids.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("expected an image for \"{}\", a vision model ({}), found a text of {} "
                                               "tokens. Give it one with 'attnflow image', or choose a text model",
                                               info.name, info.architecture, input.ids.size()));
  }
  check_pixels(image, input.pixels.shape(), input.pixels.span());
}

void check_positions(const RunOptions& options, std::size_t n) {
  for (const std::size_t position : options.logit_positions) {
    if (position >= n) {
      throw Error(ErrorKind::kUsage, fmt::format("expected logit positions from 0 to {}, found {}", n - 1, position));
    }
  }
}

}  // namespace

void check_takes_text(const ModelInfo& info) {
  if (!info.image) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("expected a text model, found \"{}\", a vision model ({}). Give it an image with 'attnflow image'",
                  info.name, info.architecture));
}

void check_takes_pictures(const ModelInfo& info) {
  if (info.image) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("expected a vision model, found \"{}\", a text model ({}). Give it a text with 'attnflow explain'",
                  info.name, info.architecture));
}

void check_no_picture(const ModelInfo& info, const ModelInput& input) {
  if (input.pixels.empty()) return;
  throw Error(ErrorKind::kUsage, fmt::format("expected a text for \"{}\", a text model ({}), found an image of shape "
                                             "{}. Give it one with 'attnflow explain', or choose a vision model",
                                             info.name, info.architecture, shape_to_string(input.pixels.shape())));
}

void check_pixels(const ImageInfo& image, const Shape& shape, std::span<const float> pixels) {
  if (shape.size() != 3 || shape[0] != image.channels || pixels.empty()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected pixels of shape [channels, height, width] with {} channels, found shape {}",
                            image.channels, shape_to_string(shape)));
  }
  image_tokens(image, shape[1], shape[2]);
  const auto bad = std::find_if(pixels.begin(), pixels.end(), [](float pixel) { return !std::isfinite(pixel); });
  if (bad != pixels.end()) {
    throw Error(ErrorKind::kUsage, fmt::format("expected pixels that are finite numbers, found {}", *bad));
  }
}

void check_model_input(const ModelConfig& config, const ModelInfo& info, const ModelInput& input,
                       const RunOptions& options) {
  if (info.image) {
    check_picture(*info.image, info, input);
    check_positions(options, input_tokens(info, input));
    return;
  }
  check_no_picture(info, input);
  const std::size_t n = input.ids.size();
  if (n == 0) throw Error(ErrorKind::kUsage, "the input is empty: expected at least one token");
  if (n > info.max_tokens) {
    throw Error(ErrorKind::kInputTooLong,
                fmt::format("expected at most {} tokens, the positions of the model \"{}\", found {}. Shorten the "
                            "input, or let it be cut with --truncate",
                            info.max_tokens, info.name, n));
  }
  if (!input.type_ids.empty() && input.type_ids.size() != n) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected as many type ids as ids, or none, found {} ids and {} type ids", n,
                            input.type_ids.size()));
  }
  const auto outside = [](std::int64_t id, std::size_t limit) {
    return id < 0 || static_cast<std::uint64_t>(id) >= limit;
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (outside(input.ids[i], info.vocabulary)) {
      throw Error(ErrorKind::kBadFile,
                  fmt::format("expected token ids from 0 to {}, the vocabulary of the model \"{}\", found {} at "
                              "position {}. The tokenizer and the weights do not match",
                              info.vocabulary - 1, info.name, input.ids[i], i));
    }
    if (config.token_types > 1 && !input.type_ids.empty() && outside(input.type_ids[i], config.token_types)) {
      throw Error(ErrorKind::kBadFile,
                  fmt::format("expected type ids from 0 to {}, the token types of the model \"{}\", found {} at "
                              "position {}. The tokenizer and the weights do not match",
                              config.token_types - 1, info.name, input.type_ids[i], i));
    }
  }
  check_positions(options, n);
}

std::size_t input_tokens(const ModelInfo& info, const ModelInput& input) {
  if (!info.image) return input.ids.size();
  return image_tokens(*info.image, input.pixels.extent(1), input.pixels.extent(2)).roles.size();
}

std::vector<std::int64_t> position_ids(const ModelConfig& config, std::span<const std::int64_t> ids) {
  std::vector<std::int64_t> positions;
  positions.reserve(ids.size());
  std::int64_t next = config.padding_id ? *config.padding_id + 1 : 0;
  for (const std::int64_t id : ids) {
    positions.push_back(config.padding_id && id == *config.padding_id ? id : next++);
  }
  return positions;
}

}  // namespace attnflow
