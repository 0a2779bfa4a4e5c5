// Converts a request's fields (explain/option_fields.h) to an analysis's options, checked as far as possible without
// the model.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "attnflow/analysis/evaluate/evaluate_text.h"
#include "attnflow/analysis/generate/generate.h"
#include "attnflow/analysis/text/explain_text.h"
#include "attnflow/http/http_message.h"

namespace attnflow {

// Limits, which the schema also states.
inline constexpr std::size_t kMaxListed = 256;      // entries in a list
inline constexpr std::size_t kMaxLayersText = 200;  // characters in a string like "1-6,8"
inline constexpr std::size_t kMaxTopK = 1000;
inline constexpr std::size_t kMaxCertificates = 16;
inline constexpr std::size_t kMaxGenerated = 4096;

struct ExplainRequest {
  std::string model;  // "" for the default
  std::string text;
  std::optional<std::string> pair;
  ExplainOptions options;
  bool compact = false;  // compact document (report/compact_json.h)
};
ExplainRequest read_explain_request(std::string_view json);

struct ImageRequest {
  std::string model;
  std::string name;  // of the image, for titles
  ExplainOptions options;
  bool compact = false;
};
// Flags in the URL's query are true, false, 1 or 0.
ImageRequest read_image_request(const NamedTexts& query);

struct GenerateRequest {
  std::string model;
  std::string prompt;
  GenerateOptions options;
  std::string stop_id;  // the name by which the client may stop it early
  bool compact = false;
};
GenerateRequest read_generate_request(std::string_view json);
std::string read_stop_request(std::string_view json);

struct EvaluateRequest {
  std::string model;
  std::string text;
  std::optional<std::string> pair;
  TextEvaluationOptions options;
};
EvaluateRequest read_evaluate_request(std::string_view json);

}  // namespace attnflow
