#include "python/binding/errors.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <exception>
#include <string>

#include "attnflow/attribution/option_names.h"
#include "attnflow/base/error.h"
#include "python/binding/work.h"

namespace attnflow::python {
namespace {

namespace nb = nanobind;

const char* kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return "usage";
    case ErrorKind::kBadFile:
      return "bad_input";
    case ErrorKind::kUnsupportedModel:
      return "unsupported_model";
    case ErrorKind::kInputTooLong:
      return "input_too_long";
    case ErrorKind::kOther:
      break;
  }
  return "other";
}

void raise(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    // Messages quote users' input, which may be any bytes.
    const std::string message = with_field_names(error.what(), OptionNames::kPython);
    const nb::object text =
        nb::steal(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
    const nb::object type = nb::module_::import_("attnflow.errors").attr("Error");
    const nb::object raised = type(text, nb::arg("kind") = kind_name(error.kind()));
    PyErr_SetObject(type.ptr(), raised.ptr());
  } catch (const PassingThrough& passing) {
    try {
      std::rethrow_exception(passing.raised);
    } catch (const nb::python_error& error) {
      // Unlike restore(), this leaves the error as it is: a sink that keeps what failed raises it again.
      PyObject* const value = error.value().ptr();
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value)), value);
    }
  }
}

}  // namespace

void throw_own_error(nb::python_error& error) {
  const nb::object type = nb::module_::import_("attnflow.errors").attr("Error");
  if (!error.matches(type)) return;
  const auto name = nb::cast<std::string>(error.value().attr("kind"));
  ErrorKind kind = ErrorKind::kOther;
  for (const ErrorKind one :
       {ErrorKind::kUsage, ErrorKind::kBadFile, ErrorKind::kUnsupportedModel, ErrorKind::kInputTooLong}) {
    if (name == kind_name(one)) kind = one;
  }
  throw Error(kind, nb::cast<std::string>(nb::str(error.value())));
}

void raise_errors_in_python() { nb::register_exception_translator(raise, nullptr); }

}  // namespace attnflow::python
