// Labeled sentences from a file, for measuring a classifier and what it attends to.
//
// Four kinds of file, by their ending; all are UTF-8, and a byte order mark is dropped:
//
//   .tsv     text TAB label a line, as SST-2 is distributed; no quoting. Three columns are text, second segment, label.
//            A first line that names a text and a label column is a header; columns may then come in any order.
//   .csv     RFC 4180 (quotes, doubled quotes inside, line breaks inside), with a header.
//   .jsonl   one JSON object a line; its keys are the columns.
//   .txt     one text a line, without labels.
//
// Columns: the text is `text`, `sentence`, `sentence1` or `premise`; an optional second segment `pair`, `text_pair`,
// `sentence2` or `hypothesis`; the label `label`, `labels` or `class`; the group whose accuracy is reported separately
// `group` or `attractors`; the text's document `source`. The first of these names that the file has is used; case does
// not matter. A .csv or .jsonl file may lack a label column.
//
// A label is the name of one of the model's classes (exactly, else in any case) or its number, from 0.
//
// Blank lines are left out and counted. Every other fault is an error that names the line: a sample that vanished
// silently would be a number that nobody measured.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/model/model.h"

namespace attnflow {

struct EvaluationSample {
  std::string text;
  std::optional<std::string> pair;   // second segment
  std::optional<std::size_t> label;  // number of the class; absent in files without labels
  std::string group;                 // a name for part of the samples, whose accuracy is reported apart; or ""
  std::string source = {};           // name of the document it is from; or ""
};

struct SampleFile {
  std::vector<EvaluationSample> samples;  // at least one, in the order of the file; all with a label, or none
  std::size_t empty_lines = 0;            // left out
};

// Throws Error(kUsage) for another ending, and Error(kBadFile), with any line (from 1), for a file that is missing or
// not UTF-8 or has no samples, wrong columns, empty texts, unknown labels, unended quotations, and lines without a JSON
// object.
SampleFile read_samples(const std::filesystem::path& path, const ModelInfo& info);
// The same for a .tsv that was already read; `name` begins every message.
SampleFile parse_samples_tsv(std::string content, const std::string& name, const ModelInfo& info);

}  // namespace attnflow
