#include "attnflow/files/pickle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "attnflow/base/error.h"
#include "attnflow/files/pytorch_for_test.h"

namespace attnflow::internal {
namespace {

namespace write = test::pickle;
using Kind = PickleValue::Kind;

const std::string kSource = "weights.bin";
const std::string kAdvice = "Convert it.";
const std::string kWarning = "unless you trust whoever made it";

Pickle read(const std::string& bytes) { return read_pickle(std::as_bytes(std::span(bytes)), kSource, kAdvice); }

void expect_refused(const std::string& value, const std::vector<std::string>& words,
                    const std::string& advice = kAdvice) {
  std::vector<std::string> all = {kSource, "expected weights only, found", "no code in the file was run", advice};
  all.insert(all.end(), words.begin(), words.end());
  test::expect_error(ErrorKind::kBadFile, all, [&] { read(write::whole(value)); });
}

TEST(Pickle, ReadsPlainValues) {
  const std::string bytes = write::whole("(K\x07M\x01\x02J\xff\xff\xff\xffN\x88\x89" + write::text("text") +
                                         "\x8c\x02hi" + "U\x03" + "oldt") +
                            "rest";
  const Pickle pickle = read(bytes);
  EXPECT_EQ(pickle.size, bytes.size() - 4);
  const PickleValue& all = pickle[pickle.result];
  ASSERT_EQ(all.kind, Kind::kTuple);
  const auto item = [&](std::size_t i) { return pickle[all.items.at(i)]; };
  EXPECT_EQ(item(0).number, 7);
  EXPECT_EQ(item(1).number, 513);
  EXPECT_EQ(item(2).number, -1);
  EXPECT_EQ(item(3).kind, Kind::kNone);
  EXPECT_EQ(item(4).number, 1);
  EXPECT_EQ(item(5).number, 0);
  EXPECT_EQ(item(6).text, "text");
  EXPECT_EQ(item(7).text, "hi");
  EXPECT_EQ(item(8).text, "old");
}

TEST(Pickle, ReadsLongNumbers) {
  const auto number = [](const std::string& bytes) {
    const std::string whole = write::whole("\x8a" + std::string(1, static_cast<char>(bytes.size())) + bytes);
    const Pickle pickle = read(whole);
    return pickle[pickle.result].number;
  };
  EXPECT_EQ(number(""), 0);
  EXPECT_EQ(number("\x7f"), 127);
  EXPECT_EQ(number("\xff"), -1);
  EXPECT_EQ(number(std::string("\xff\x00", 2)), 255);
  EXPECT_EQ(number(std::string("\x00\x00\x00\x00\x00\x00\x00\x80", 8)), INT64_MIN);
  const std::string beyond = write::whole("\x8a\x0a" + std::string(10, '\x11'));
  const Pickle pickle = read(beyond);
  EXPECT_EQ(pickle[pickle.result].kind, Kind::kLongNumber);
  EXPECT_EQ(pickle[pickle.result].text.size(), 10U);
}

TEST(Pickle, KeepsDictsListsAndTheMemo) {
  // {"a": [1, 1], "b": the same list}
  const std::string bytes = write::whole("}(" + write::text("a") +
                                         "](K\x01q\x05h\x05"
                                         "eq\x06" +
                                         write::text("b") + "h\x06u");
  const Pickle pickle = read(bytes);
  const PickleValue& dict = pickle[pickle.result];
  ASSERT_EQ(dict.kind, Kind::kDict);
  ASSERT_EQ(dict.items.size(), 4U);
  EXPECT_EQ(dict.items[1], dict.items[3]);
  const PickleValue& list = pickle[dict.items[1]];
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[0], list.items[1]);
  // Protocol 4: frames, names from the stack, a memo without numbers.
  const std::string four = std::string("\x80\x04\x95\x04\0\0\0\0\0\0\0", 11) +
                           "\x8c\x0b"
                           "collections\x94\x8c\x0b"
                           "OrderedDict\x94\x93)R\x94h\x02\x86.";
  const Pickle pair = read(four);
  EXPECT_EQ(pair[pair.result].kind, Kind::kTuple);
}

TEST(Pickle, ReadsAnOrderedDictOfPython2) {
  const std::string bytes = write::whole(write::call(write::name("collections", "OrderedDict"),
                                                     {write::list({write::list({write::text("a"), "K\x01"})})}));
  const Pickle pickle = read(bytes);
  ASSERT_EQ(pickle[pickle.result].kind, Kind::kDict);
  EXPECT_EQ(pickle[pickle[pickle.result].items.at(0)].text, "a");
}

TEST(Pickle, KeepsACallAsAValue) {
  const std::string bytes = write::whole(write::call(write::name("torch._utils", "_rebuild_parameter"), {"N"}));
  const Pickle pickle = read(bytes);
  const PickleValue& call = pickle[pickle.result];
  ASSERT_EQ(call.kind, Kind::kCall);
  EXPECT_EQ(pickle[call.items[0]].name, PickleValue::Name::kRebuildParameter);
}

TEST(Pickle, RefusesEveryOtherName) {
  for (const auto& [module, name] :
       std::vector<std::pair<std::string, std::string>>{{"posix", "system"},
                                                        {"os", "system"},
                                                        {"builtins", "eval"},
                                                        {"__builtin__", "getattr"},
                                                        {"subprocess", "Popen"},
                                                        {"torch", "load"},
                                                        {"torch._utils", "_rebuild_wrapper_subclass"},
                                                        {"collections", "defaultdict"},
                                                        {"collections", "OrderedDict.__init__"},
                                                        {"numpy.core.multiarray", "_reconstruct"},
                                                        {"", ""}}) {
    expect_refused(write::call(write::name(module, name), {write::text("echo run")}), {module + "." + name}, kWarning);
    expect_refused(write::text(module) + write::text(name) + "\x93", {module + "." + name}, kWarning);
  }
  expect_refused(write::name("posix\x1b[31m", std::string(5000, 'x')), {"\\x1b"}, kWarning);  // shown safely
}

TEST(Pickle, RefusesEveryOtherInstruction) {
  for (const std::string instruction :
       {"i", "o", "\x81", "\x92", "\x82", "\x83", "\x84", "I",    "L",    "V", "S", "P",
        "2", "B", "C",    "\x8e", "\x96", "\x97", "\x98", "\x8f", "\x8b", "d", "l", "z"}) {
    expect_refused(instruction, {fmt::format("{:#04x}", static_cast<unsigned char>(instruction[0]))}, kWarning);
  }
  expect_refused(write::text("system") + ")R", {"a call of"});
  expect_refused(write::name("torch", "FloatStorage") + ")R", {"a call of"});
  expect_refused(write::name("collections", "OrderedDict") + "}b", {"a function or class"});
  expect_refused("]" + write::text("a") + "Ns", {"a list"});
  expect_refused("}Na", {"a dict"});
}

TEST(Pickle, RefusesDamage) {
  const std::string good = write::whole(
      write::dict({{"a", write::tensor(write::storage("FloatStorage", "0", 6, false), 0, {2, 3}, {3, 1})}}));
  EXPECT_NO_THROW(read(good));
  for (std::size_t length = 0; length < good.size(); ++length) {
    test::expect_error(ErrorKind::kBadFile, {kSource}, [&] { read(good.substr(0, length)); });
  }
  for (const std::string bad : {".",     "0.",          "t.",          "e.",      "R.",   "(R.",       "N(.", "NN.",
                                "}(Nu.", "K\x01K\x02.", "h\x01.",      "q\x01.",  "Q.",   "\x93.",     "b.",  "Nb.",
                                "\x85.", "N\x87.",      "(N\x85\x85.", "NN\x93.", "]NR.", "\x80\x06N."}) {
    test::expect_error(ErrorKind::kBadFile, {kSource}, [&] { read(bad); });
  }
  for (const std::string bad : {"X\xff\xff\xff\xff", "T\xff\xff\xff\x7f", "\x8c\xff", "\x8a\xff",
                                "\x8d\xff\xff\xff\xff\xff\xff\xff\xff", "\x95\xff\xff\xff\xff\xff\xff\xff\xff", "G"}) {
    test::expect_error(ErrorKind::kBadFile, {kSource, "truncated"}, [&] { read(bad + "N."); });
  }
}

TEST(Pickle, BoundsWhatAFileCanMakeItHold) {
  constexpr std::size_t kMany = std::size_t{3} << 20;
  const auto expect_bounded = [](const std::string& bytes) {
    test::expect_error(ErrorKind::kBadFile, {kSource}, [&] { read(bytes + "."); });
  };
  expect_bounded(std::string(kMany, ']'));
  expect_bounded(std::string(kMany, 'N'));
  expect_bounded(std::string(kMany, '('));
  expect_bounded("N" + std::string(kMany, '\x94'));
  std::string pairs = "](";
  for (int i = 0; i < 1000; ++i) pairs += "](NNe";
  pairs +=
      "eq\x01"
      "0" +
      write::name("collections", "OrderedDict") + "q\x02";
  for (int i = 0; i < 3000; ++i) pairs += "h\x02h\x01\x85R0";
  expect_bounded(pairs);
  // A list that contains itself, and tuples nested 100,000 deep: neither is traversed.
  EXPECT_NO_THROW(
      read("]q\x01h\x01"
           "a."));
  EXPECT_NO_THROW(read("N" + std::string(100000, '\x85') + "."));
}

}  // namespace
}  // namespace attnflow::internal
