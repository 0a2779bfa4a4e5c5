#include "attnflow/model/model_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "attnflow/model/fail.h"

namespace attnflow {

namespace {

void check_positions(const RunOptions& options, std::size_t n) {
  for (const std::size_t position : options.logit_positions) {
    if (position >= n) {
      internal::fail(ErrorKind::kUsage, "expected logit positions from 0 to {}, found {}", n - 1, position);
    }
  }
}

}  // namespace

void check_takes_text(const ModelInfo& info) {
  if (!info.image) return;
  internal::fail(ErrorKind::kUsage,
                 "expected a text model, found \"{}\", a vision model ({}). Give it an image with 'attnflow image'",
                 info.name, info.architecture);
}

void check_takes_pictures(const ModelInfo& info) {
  if (info.image) return;
  internal::fail(ErrorKind::kUsage,
                 "expected a vision model, found \"{}\", a text model ({}). Give it a text with 'attnflow explain'",
                 info.name, info.architecture);
}

void check_pixels(const ImageInfo& image, const Shape& shape, std::span<const float> pixels) {
  if (shape.size() != 3 || shape[0] != image.channels || pixels.empty()) {
    internal::fail(ErrorKind::kUsage,
                   "expected pixels of shape [channels, height, width] with {} channels, found shape {}",
                   image.channels, shape_to_string(shape));
  }
  image_tokens(image, shape[1], shape[2]);
  const auto bad = std::find_if(pixels.begin(), pixels.end(), [](float pixel) { return !std::isfinite(pixel); });
  if (bad != pixels.end()) {
    internal::fail(ErrorKind::kUsage, "expected pixels that are finite numbers, found {}", *bad);
  }
}

void check_pixel_input(const ModelInfo& info, const PixelInput& input, const RunOptions& options) {
  check_pixels(*info.image, input.pixels.shape(), input.pixels.span());
  check_positions(options, input_tokens(info, input));
}

void check_rewind(std::size_t length, std::size_t kept) {
  if (kept <= length) return;
  internal::fail(ErrorKind::kUsage, "expected to keep at most the sequence's {} tokens, found {}", length, kept);
}

void check_ids(const ModelInfo& info, std::size_t length, std::span<const std::int64_t> ids) {
  if (ids.empty()) throw Error(ErrorKind::kUsage, "the input is empty: expected at least one token");
  if (length > info.max_tokens || ids.size() > info.max_tokens - length) {
    const std::string found =
        length == 0 ? fmt::format("{}", ids.size()) : fmt::format("{} after the {} existing ones", ids.size(), length);
    internal::fail(ErrorKind::kInputTooLong,
                   "expected at most {} tokens, the positions of the model \"{}\", found {}. Shorten the "
                   "input, or let it be cut with --truncate",
                   info.max_tokens, info.name, found);
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || static_cast<std::uint64_t>(ids[i]) >= info.vocabulary) {
      internal::fail(ErrorKind::kBadFile,
                     "expected token ids from 0 to {}, the vocabulary of the model \"{}\", found {} at "
                     "position {}. The tokenizer and the weights do not match",
                     info.vocabulary - 1, info.name, ids[i], length + i);
    }
  }
}

void check_text_input(const ModelInfo& info, const TextInput& input, const RunOptions& options,
                      std::size_t token_types) {
  check_ids(info, 0, input.ids);
  const std::size_t n = input.ids.size();
  if (!input.type_ids.empty() && input.type_ids.size() != n) {
    internal::fail(ErrorKind::kUsage, "expected as many type ids as ids, or none, found {} ids and {} type ids", n,
                   input.type_ids.size());
  }
  for (std::size_t i = 0; token_types > 1 && i < input.type_ids.size(); ++i) {
    const std::int64_t type = input.type_ids[i];
    if (type >= 0 && static_cast<std::uint64_t>(type) < token_types) continue;
    internal::fail(ErrorKind::kBadFile,
                   "expected type ids from 0 to {}, the token types of the model \"{}\", found {} at "
                   "position {}. The tokenizer and the weights do not match",
                   token_types - 1, info.name, type, i);
  }
  if (info.causal && !predicts_classes(info.head) && !options.logit_positions.empty()) check_decoder_head(info);
  check_positions(options, n);
}

void check_decoder_head(const ModelInfo& info) {
  if (info.head == ModelHead::kCausalLm) return;
  if (predicts_classes(info.head)) {
    internal::fail(ErrorKind::kUnsupportedModel,
                   "expected a language model, which predicts the next token, found {}, which predicts a class; "
                   "use attnflow explain for the class and what it depends on",
                   info.name);
  }
  internal::fail(ErrorKind::kUnsupportedModel,
                 "expected a language model, which predicts the next token, found the base model {}, whose files "
                 "hold no lm_head.weight; attnflow explain shows its attention",
                 info.name);
}

void check_one_text(const ModelInfo& info) {
  if (!info.target) return;
  internal::fail(
      ErrorKind::kUnsupportedModel,
      "expected an encoder or a decoder, which reads one text, found {}, an encoder-decoder ({}). "
      "'attnflow explain SOURCE --target-text TEXT' explains the next token of a given target, and 'attnflow "
      "generate' lets the model write one",
      info.name, info.architecture);
}

void check_target(const ModelInfo& info, const ScoreTarget& target, std::size_t tokens) {
  if (info.causal && !predicts_classes(info.head)) check_decoder_head(info);
  if (info.head == ModelHead::kNone) {
    internal::fail(ErrorKind::kUnsupportedModel,
                   "expected a model with a head that scores classes or tokens, found none in {}", info.name);
  }
  const bool of_cosine = target.kind == ScoreTarget::Kind::kCosine;
  if (of_cosine != (info.head == ModelHead::kEmbedding) || (of_cosine && target.direction.size() != info.hidden)) {
    internal::fail(ErrorKind::kUsage,
                   "expected the cosine with a direction of {} numbers for the embedding of a text, and for nothing "
                   "else, found a direction of {} numbers for the model \"{}\"",
                   info.hidden, target.direction.size(), info.name);
  }
  const bool of_class = predicts_classes(info.head);
  const bool answers = info.head == ModelHead::kQuestionAnswering;
  const std::size_t labels = of_class ? info.labels.size() : answers ? tokens : info.vocabulary;
  const auto check_label = [&](std::size_t label) {
    if (label < labels) return;
    internal::fail(ErrorKind::kUsage, "expected labels below {}, {} of the model \"{}\", found {}", labels,
                   of_class  ? "the classes"
                   : answers ? "the tokens of an input"
                             : "the token ids",
                   info.name, label);
  };
  if (!of_cosine) check_label(target.label);
  if (target.has_others() && target.others.empty()) {
    internal::fail(ErrorKind::kUsage, "expected a label to compare {} with, found none", target.label);
  }
  for (const std::size_t other : target.others) {
    check_label(other);
    if (other != target.label) continue;
    internal::fail(ErrorKind::kUsage, "expected two different labels to compare, found {} twice", target.label);
  }
  if (!target.position) return;
  if ((predicts_whole(info.head) && !info.causal) || answers) {
    internal::fail(ErrorKind::kUsage,
                   "expected a target without a position, as {} predicts one {} of the "
                   "whole input, found position {}",
                   info.name,
                   answers     ? "answer"
                   : of_cosine ? "embedding"
                               : "class",
                   *target.position);
  }
  if (*target.position >= tokens) {
    internal::fail(ErrorKind::kUsage, "expected a target's position from 0 to {}, found {}", tokens - 1,
                   *target.position);
  }
}

std::size_t reading_position(const ModelInfo& info, std::span<const std::int64_t> ids) {
  std::size_t position = ids.size() - 1;
  if (!info.padding) return position;
  while (position > 0 && ids[position] == *info.padding) --position;
  return position;
}

std::size_t input_tokens(const ModelInfo& /*info*/, const TextInput& input) { return input.ids.size(); }

std::size_t input_tokens(const ModelInfo& info, const PixelInput& input) {
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
