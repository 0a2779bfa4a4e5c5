#include "attnflow/http/event_stream.h"

#include <gtest/gtest.h>

namespace attnflow::event_stream_test {
namespace {

TEST(EventStream, OneLine) { EXPECT_EQ(sse_event("queued", "{}"), "event: queued\ndata: {}\n\n"); }

TEST(EventStream, SeveralLines) {
  EXPECT_EQ(sse_event("report", "{\n\"a\": 1\n}\n"), "event: report\ndata: {\ndata: \"a\": 1\ndata: }\n\n");
  EXPECT_EQ(sse_event("x", "a\n\n"), "event: x\ndata: a\ndata: \n\n");
  EXPECT_EQ(sse_event("x", ""), "event: x\ndata: \n\n");
}

}  // namespace
}  // namespace attnflow::event_stream_test
