#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attnflow/base/error.h"

namespace attnflow::test {

// Returns the message of the Error that `action` throws, which must be of `kind`.
template <typename Action>
std::string refusal(ErrorKind kind, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "expected an Error, nothing was thrown";
  return "";
}

// Runs `action`, which must throw an Error of `kind` with all of `words` in its message.
template <typename Action>
void expect_error(ErrorKind kind, const std::vector<std::string>& words, const Action& action) {
  const std::string message = refusal(kind, action);
  for (const std::string& word : words) {
    EXPECT_NE(message.find(word), std::string::npos) << "no \"" << word << "\" in: " << message;
  }
}

}  // namespace attnflow::test
