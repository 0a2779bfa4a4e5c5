// A value of a document being read, with its place for messages; internal.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attnflow::internal {

// Throws Error(kBadFile); `where` is a path in the document.
[[noreturn]] void report_problem(const std::string& where, const std::string& expected, const std::string& found);

std::string describe(const nlohmann::json& value);

class Field {
 public:
  Field(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  const nlohmann::json& value() const { return *value_; }

  // Returns nothing if the member is missing or null.
  std::optional<Field> find(const char* name) const {
    if (!value_->is_object()) report_problem(path_, "an object", describe(*value_));
    const auto member = value_->find(name);
    if (member == value_->end() || member->is_null()) return std::nullopt;
    return Field(*member, path_.empty() ? name : path_ + "." + name);
  }
  Field at(const char* name) const {
    const std::optional<Field> member = find(name);
    if (!member) report_problem(path_, fmt::format("a field \"{}\"", name), "none");
    return *member;
  }

  std::size_t length() const {
    if (!value_->is_array()) report_problem(path_, "an array", describe(*value_));
    return value_->size();
  }
  Field element(std::size_t index) const { return {(*value_)[index], fmt::format("{}[{}]", path_, index)}; }

  const std::string& string() const {
    if (!value_->is_string()) report_problem(path_, "a string", describe(*value_));
    return value_->get_ref<const std::string&>();
  }
  void get(std::string& out) const { out = string(); }
  void get(double& out) const {
    if (!value_->is_number()) report_problem(path_, "a number", describe(*value_));
    out = value_->get<double>();
  }
  void get(bool& out) const {
    if (!value_->is_boolean()) report_problem(path_, "true or false", describe(*value_));
    out = value_->get<bool>();
  }
  void get(int& out) const {
    // An unsigned number beyond 63 bits would compare as a negative one.
    const bool huge = value_->is_number_unsigned() && value_->get<std::uint64_t>() > 2000;
    if (!value_->is_number_integer() || huge || *value_ < -2000 || *value_ > 2000) {
      report_problem(path_, "an integer from -2000 to 2000", describe(*value_));
    }
    out = value_->get<int>();
  }
  void get(std::size_t& out) const {
    if (!value_->is_number_unsigned()) report_problem(path_, "a non-negative integer", describe(*value_));
    out = value_->get<std::size_t>();
  }
  // For a number that is never negative.
  void get(std::int64_t& out) const {
    const bool fits = value_->is_number_unsigned() && value_->get<std::uint64_t>() <= std::uint64_t{INT64_MAX};
    if (!fits) report_problem(path_, "a non-negative integer of 63 bits", describe(*value_));
    out = value_->get<std::int64_t>();
  }
  template <typename T>
  void get(std::vector<T>& out) const {
    out.clear();
    const std::size_t count = length();
    for (std::size_t i = 0; i < count; ++i) element(i).get(out.emplace_back());
  }

  template <typename T>
  void read(const char* name, T& out) const {
    if (const std::optional<Field> member = find(name)) member->get(out);
  }

 private:
  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace attnflow::internal
