// Renders a conversation into the text that a chat model expects.
//
// A chat model expects each turn of a conversation to be wrapped in its own markers. The template that writes them
// ships with the model, in the Jinja language: as chat_template.jinja, or as chat_template in tokenizer_config.json (a
// string, or a list of {name, template}, of which "default" is used). It is rendered as apply_chat_template of Hugging
// Face transformers does, with add_generation_prompt and without tools or documents.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/text/text_codec.h"

namespace attnflow::internal {

class ChatTemplate {
 public:
  // Reads the template from a model folder. Only render() reports a missing or malformed template, so models whose
  // template is never used work without one.
  explicit ChatTemplate(const Folder& folder);
  // `text` is the template as read from the file `source`.
  ChatTemplate(std::string text, std::string source);
  bool exists() const { return !text_.empty(); }

  // Returns the conversation up to where the answer begins. `special_tokens` maps roles ("bos_token") to their pieces,
  // for templates that use them. The date that some templates write into the system turn is today's in local time, or
  // that of the environment variable SOURCE_DATE_EPOCH (seconds since 1970, UTC), which makes the text reproducible. A
  // template has no access to files or the network, and one that never ends is stopped; its memory is not bounded (nor
  // is it in Python), so a malicious template can exhaust it.
  //
  // Throws Error(kUnsupportedModel) when the model has no template, Error(kUsage) when there are no messages, one is
  // not UTF-8, or the template rejects the conversation (unknown roles, or roles in the wrong order), and
  // Error(kBadFile) when the template itself fails.
  std::string render(const std::vector<ChatMessage>& messages,
                     const std::map<std::string, std::string>& special_tokens) const;

 private:
  std::string text_;
  std::string source_;   // the file, for messages; empty if there is no template
  std::string problem_;  // why the file gave no template, if it was unusable
  std::string folder_;
};

}  // namespace attnflow::internal
