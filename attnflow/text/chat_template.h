// How a model's conversations are written.
//
// A model that was trained to answer expects the turns of a conversation with marks of its own around them. The
// template that writes them comes with the model, in the language Jinja: as chat_template.jinja, or as chat_template in
// tokenizer_config.json (a text, or a list of {name, template}, of which "default" is taken). It runs here as
// apply_chat_template of Hugging Face transformers runs it, with add_generation_prompt and without tools and documents.
#ifndef ATTNFLOW_TEXT_CHAT_TEMPLATE_H_
#define ATTNFLOW_TEXT_CHAT_TEMPLATE_H_

#include <map>
#include <string>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/text/text_codec.h"

namespace attnflow::internal {

class ChatTemplate {
 public:
  // Of a model's folder. A template that is missing or malformed is an error of render(): models whose template nobody
  // asks for can do without.
  explicit ChatTemplate(const Folder& folder);
  // `text`, as it stands in the file `source`.
  ChatTemplate(std::string text, std::string source);
  // Whether the model has one.
  bool exists() const { return !text_.empty(); }

  // The conversation up to where the answer begins. `special_tokens`: their pieces by role ("bos_token"), which
  // templates may use. The date that some templates write into the system's turn is today's in local time, or that of
  // the environment variable SOURCE_DATE_EPOCH (seconds since 1970, UTC) when it is set, which makes the text
  // repeatable. A template has no files and no network to reach, and one that runs on without end is stopped; its
  // memory is not bounded, as it is not in Python, so one that was written to fill memory can.
  //
  // Throws Error(kUnsupportedModel) when the model has no template, Error(kUsage) when there is no message, when one is
  // not UTF-8, or when the template refuses the conversation (roles that it does not know, or in another order), and
  // Error(kBadFile) when the template does not work.
  std::string render(const std::vector<ChatMessage>& messages,
                     const std::map<std::string, std::string>& special_tokens) const;

 private:
  std::string text_;
  std::string source_;   // the file, for messages; empty without a template
  std::string problem_;  // what is wrong with the file, when there is no text for that reason
  std::string folder_;
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_TEXT_CHAT_TEMPLATE_H_
