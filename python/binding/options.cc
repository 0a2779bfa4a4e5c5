#include "python/binding/options.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attnflow/analysis/generate/generate.h"
#include "attnflow/attribution/methods.h"
#include "attnflow/attribution/mixings.h"
#include "attnflow/attribution/setting_options.h"
#include "attnflow/base/error.h"
#include "attnflow/explain/explain_attention.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/explain/option_fields.h"

namespace attnflow::python {
namespace {

namespace nb = nanobind;
using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& name, nb::handle value) {
  throw Error(ErrorKind::kUsage, fmt::format("{}: expected a number, a text, or a list of these, found {}", name,
                                             nb::cast<std::string>(nb::type_name(value.type()))));
}

// Text as UTF-8, which halves of surrogate pairs, valid in Python, do not have.
std::string utf8_of(const std::string& name, nb::handle text) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) {
    PyErr_Clear();
    throw Error(ErrorKind::kUsage, name + ": expected a text of Unicode characters, found half of a surrogate pair");
  }
  return {bytes, static_cast<std::size_t>(size)};
}

// NumPy's own bool, not a whole number: bool_, or bool from NumPy 2 on. (The stable ABI lacks tp_name.)
bool is_numpy_bool(nb::handle type) {
  const auto name = nb::cast<std::string>(nb::str(type.attr("__module__"))) + "." +
                    nb::cast<std::string>(nb::str(type.attr("__name__")));
  return name == "numpy.bool_" || name == "numpy.bool";
}

// A value as JSON. Anything that converts to a whole number (as NumPy's do) or a number is one. No option is a list of
// lists of lists.
Json json_of(const std::string& name, nb::handle value, int depth = 0) {
  constexpr int kMaxDepth = 3;
  if (depth > kMaxDepth) refuse(name, value);
  if (PyBool_Check(value.ptr()) != 0) return value.ptr() == Py_True;
  if (is_numpy_bool(value.type())) {
    const int truth = PyObject_IsTrue(value.ptr());
    if (truth < 0) nb::raise_python_error();
    return truth == 1;
  }
  if (PyUnicode_Check(value.ptr()) != 0) return utf8_of(name, value);
  if (PyDict_Check(value.ptr()) == 0) {
    if (PyObject_Size(value.ptr()) >= 0) {
      Json list = Json::array();
      for (const nb::handle one : nb::borrow<nb::object>(value)) list.push_back(json_of(name, one, depth + 1));
      return list;
    }
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) nb::raise_python_error();
    PyErr_Clear();  // it has no size
  }
  if (PyIndex_Check(value.ptr()) != 0) {
    const nb::object whole = nb::steal(PyNumber_Index(value.ptr()));
    if (!whole.is_valid()) nb::raise_python_error();
    int overflow = 0;
    const std::int64_t number = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
    if (overflow != 0) return PyLong_AsDouble(whole.ptr());
    if (number < 0) return number;
    return static_cast<std::uint64_t>(number);
  }
  if (nb::hasattr(value, "__float__")) {
    const double number = PyFloat_AsDouble(value.ptr());
    if (number == -1.0 && PyErr_Occurred() != nullptr) nb::raise_python_error();
    if (!std::isfinite(number)) {
      throw Error(ErrorKind::kUsage, fmt::format("{}: expected a finite number, found {}", name, number));
    }
    return number;
  }
  refuse(name, value);
}

std::string annotation(const OptionInfo& option, const OptionValue& usual) {
  const std::string_view name = option.name;
  if (name == "target") return "str | int";  // by its name, or its number
  if (name == "against") return "str | int | Sequence[str | int]";
  if (option.form == OptionForm::kPairs) return "str | Sequence[str | int | Sequence[str | int]]";
  if (std::holds_alternative<bool>(usual)) return "bool";
  if (std::holds_alternative<double>(usual)) return "float";
  if (std::holds_alternative<std::size_t>(usual)) return "int";
  if (std::holds_alternative<std::vector<std::string>>(usual)) return "str | Sequence[str]";
  if (option.form == OptionForm::kLayers) return "str | int | Sequence[int]";
  if (option.form == OptionForm::kNumberToo) return "str | int";
  if (option.form == OptionForm::kPositions || option.form == OptionForm::kPositionsToo) return "str | Sequence[int]";
  return "str";
}

// The help of an option that takes names from a table, with the rows that Python has.
std::string help_of(const OptionInfo& option, OptionUse asks) {
  std::string help;
  const auto list = [&](std::string_view introduction, const auto& rows, const auto& has) {
    help = introduction;
    for (const auto& row : rows) {
      if (has(row)) help += fmt::format("{}{} ({})", help.back() == ' ' ? "" : "; ", row.name, row.help);
    }
  };
  if (std::string_view(option.name) == "method") {
    list("One or several of ", all_methods(), [&](const MethodInfo& method) {
      return asks == kForModels || asks == kForGenerations || method.aggregates();
    });
    return help;
  }
  if (std::string_view(option.name) == "mixing") {
    // With arrays they are finished; with a model they are computed.
    list("Matrix of each layer: ", all_mixings(), [&](const MixingInfo& mixing) {
      return asks == kForModels || asks == kForGenerations || mixing.mixing == Mixing::kAttention ||
             mixing.needs == MixingNeeds::kTerms;
    });
    return help;
  }
  return option.field_help();
}

OptionFields fields_of(const nb::dict& given) {
  Json object = Json::object();
  for (const auto& [key, value] : given) {
    const std::string name = utf8_of("options", key);
    if (!value.is_none()) object[name] = json_of(name, value);
  }
  // heads=[3] is one head.
  if (const auto heads = object.find("heads"); heads != object.end() && heads->is_array()) {
    if (heads->size() != 1) {
      throw Error(ErrorKind::kUsage, fmt::format("heads: expected mean, max or min of all heads, or the number of one "
                                                 "head, from 0, found a list of {}; explain one head at a time",
                                                 heads->size()));
    }
    *heads = heads->front();
  }
  // layers=3 is one layer.
  for (const char* const layers : {"layers", "flow_layers"}) {
    const auto found = object.find(layers);
    if (found != object.end() && found->is_number()) *found = Json::array({*found});
  }
  return OptionFields(std::move(object), {});
}

ExplainOptions read_common(OptionFields& fields, OptionUse defaults, OptionUse use) {
  ExplainOptions options;
  options.settings = default_settings(defaults);
  fields.read(setting_options(), options.settings, use);
  fields.read(explain_options(), options, use);
  return options;
}

ExplainOptions read_and_check(const nb::dict& given, OptionUse use) {
  OptionFields fields = fields_of(given);
  ExplainOptions options = read_common(fields, kForExplain, use);
  leave_out_flow(options, fields.has("method"));
  fields.finish();
  check_options(options);
  check_attention_options(options);
  return options;
}

}  // namespace

ExplainOptions read_options(const nb::dict& given) { return read_and_check(given, kForReports); }

ExplainOptions read_model_options(const nb::dict& given) { return read_and_check(given, kForModels); }

Settings read_evidence_settings(const nb::dict& given) {
  OptionFields fields = fields_of(given);
  Settings settings;
  fields.read(setting_options(), settings, kForEvidence);
  fields.finish();
  return settings;
}

ModelGenerateOptions read_generation_options(const nb::dict& given) {
  OptionFields fields = fields_of(given);
  ModelGenerateOptions options;
  options.generate.settings = default_settings(kForGenerate);
  fields.read(setting_options(), options.generate.settings, kForGenerations);
  fields.read(generate_options(), options.generate, kForGenerations | kGenerateRequest);
  fields.read(explain_options(), options.rows, kForGenerations);
  fields.read("user", options.user);
  options.generate.threads = options.rows.threads;
  fields.finish();
  check_generate_options(options.generate);
  check_attention_options(options.rows);
  return options;
}

std::vector<DescribedOption> described_options(const std::string& asks) {
  const OptionUse use = asks == "attribute"  ? kForArrays
                        : asks == "values"   ? kForValues
                        : asks == "explain"  ? kForModels
                        : asks == "evaluate" ? kForEvidence
                                             : kForGenerations;
  std::vector<DescribedOption> all;
  const auto describe = [&](const auto& table, const auto& owner) {
    for (const auto& option : table) {
      if (option.is_for(use))
        all.emplace_back(option.name, annotation(option, option.get(owner)), help_of(option, use));
    }
  };
  describe(setting_options(), Settings());
  describe(explain_options(), ExplainOptions());
  describe(generate_options(), GenerateOptions());
  return all;
}

}  // namespace attnflow::python
