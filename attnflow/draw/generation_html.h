// The page of a generation: step through what was generated and see what each token drew on.
//
// The page shows the prompt coloured by what the chosen generated token drew on (mouse, arrow keys, or played), by
// method, layers and normalisation; the token at each layer; the map of all tokens; the strongest prompt tokens. Tokens
// are set aside by the report's rules, by a regular expression or by a click, and the page says which share of the mass
// they hold. Texts of prompt and model are shown as text, never as markup; a content security policy with the hashes of
// the page's own style and script forbids everything else.
//
// Numbers in the page are float32, above 480,000 of them float16 (3 digits). Above 20 million, columns of generated
// tokens, normalised values, raw attention and then every other layer are left out until it fits; a note says so.
#ifndef ATTNFLOW_DRAW_GENERATION_HTML_H_
#define ATTNFLOW_DRAW_GENERATION_HTML_H_

#include <filesystem>
#include <string>

#include "attnflow/report/generation_report.h"

namespace attnflow {

// One file without outside references, that works offline. The same generation gives the same bytes.
std::string generation_to_html(const GenerationReport& report);
void write_generation_html(const std::filesystem::path& path, const GenerationReport& report);

}  // namespace attnflow

#endif  // ATTNFLOW_DRAW_GENERATION_HTML_H_
