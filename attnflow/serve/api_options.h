// From the fields of a request to the options of an analysis.
//
// What fields are, and how they are read, is said by explain/option_fields.h. Values are checked here as far as they
// can be without the model.
#ifndef ATTNFLOW_SERVE_API_OPTIONS_H_
#define ATTNFLOW_SERVE_API_OPTIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "attnflow/analysis/evaluate/evaluate_text.h"
#include "attnflow/analysis/explain/explain.h"
#include "attnflow/analysis/generate/generate.h"
#include "attnflow/serve/http_message.h"

namespace attnflow {

// Limits of what a request may ask for, which its schema says, too.
inline constexpr std::size_t kMaxListed = 256;      // entries of a list
inline constexpr std::size_t kMaxLayersText = 200;  // characters of "1-6,8"
inline constexpr std::size_t kMaxTopK = 1000;

struct ExplainRequest {
  std::string model;  // "" for the default
  std::string text;
  std::optional<std::string> pair;
  ExplainOptions options;
  bool compact = false;  // a document in few bytes (report/compact_json.h)
};
ExplainRequest read_explain_request(std::string_view json);

struct ImageRequest {
  std::string model;
  std::string name;  // of the picture, for titles
  ExplainOptions options;
  bool compact = false;
};
// From the URL's query: true, false, 1 and 0 are flags.
ImageRequest read_image_request(const NamedTexts& query);

struct GenerateRequest {
  std::string model;
  std::string prompt;
  GenerateOptions options;
  std::string stop_id;  // by which the client may end it early
  bool compact = false;
};
GenerateRequest read_generate_request(std::string_view json);
// The name of what a client wants to end.
std::string read_stop_request(std::string_view json);

struct EvaluateRequest {
  std::string model;
  std::string text;
  std::optional<std::string> pair;
  TextEvaluationOptions options;
};
EvaluateRequest read_evaluate_request(std::string_view json);

}  // namespace attnflow

#endif  // ATTNFLOW_SERVE_API_OPTIONS_H_
