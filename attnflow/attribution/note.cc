#include "attnflow/attribution/note.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "attnflow/attribution/note_texts.h"
#include "attnflow/words/numbers.h"

namespace attnflow {
namespace {

struct NoteField {
  const NoteValue* value;
};

std::string field_text(std::size_t value, const std::string& format) {
  return fmt::vformat("{:" + format + "}", fmt::make_format_args(value));
}
std::string field_text(double value, const std::string& format) {
  if (format == "%") return internal::percent(value);
  return fmt::vformat("{:" + format + "}", fmt::make_format_args(value));
}
std::string field_text(const std::string& value, const std::string& /*format*/) { return value; }
template <typename T>
std::string field_text(const std::vector<T>& values, const std::string& /*format*/) {
  return fmt::format("{}", fmt::join(values, ", "));
}

}  // namespace
}  // namespace attnflow

template <>
struct fmt::formatter<attnflow::NoteField> {
  constexpr auto parse(format_parse_context& context) {
    const auto end = std::find(context.begin(), context.end(), '}');
    format_ = {context.begin(), static_cast<std::size_t>(end - context.begin())};
    return end;
  }
  auto format(const attnflow::NoteField& field, format_context& context) const {
    const std::string text =
        std::visit([&](const auto& value) { return attnflow::field_text(value, std::string(format_)); }, *field.value);
    return std::copy(text.begin(), text.end(), context.out());
  }

 private:
  std::string_view format_;
};

namespace attnflow {
namespace {

const internal::NoteRow& row_of(NoteCode code) { return internal::note_rows()[static_cast<std::size_t>(code)]; }

}  // namespace

Note::Note(NoteCode of, NoteValues with) : code(of), values(std::move(with)) {
  const internal::NoteRow& row = row_of(code);
  fmt::dynamic_format_arg_store<fmt::format_context> fields;
  for (const auto& [name, value] : values) {
    assert(row.values.find(name) != std::string_view::npos && "the table names the values of a note");
    fields.push_back(fmt::arg(name.c_str(), NoteField{&value}));
  }
  const auto words = [&](const internal::NoteWords& one) {
    return one.made != nullptr ? one.made(*this) : fmt::vformat(one.format, fields);
  };
  text = words(row.text);
  advice = words(row.advice);
}

Note::Note(std::string words) : text(std::move(words)) {}

const NoteValue* Note::find(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

std::string note_text(const Note& note, OptionNames names) {
  if (note.advice.empty()) return note.text;
  return note.text + ' ' + with_field_names(note.advice, names);
}

std::vector<std::string> note_texts(const std::vector<Note>& notes, OptionNames names) {
  std::vector<std::string> texts;
  for (const Note& note : notes) texts.push_back(note_text(note, names));
  return texts;
}

std::string to_text(NoteCode code) { return std::string(row_of(code).name); }

std::optional<NoteCode> find_note_code(std::string_view name) {
  for (const internal::NoteRow& row : internal::note_rows()) {
    if (row.name == name) return row.code;
  }
  return std::nullopt;
}

}  // namespace attnflow
