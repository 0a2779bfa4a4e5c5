#include "attnflow/draw/page_checks.h"

#include <fmt/format.h>

#include "attnflow/base/error.h"
#include "attnflow/draw/text_layout.h"

namespace attnflow::internal {

void check_page(const PageSettings& page) {
  constexpr double kLeastWidth = 320.0;
  const auto expect = [](bool holds, const std::string& message) {
    if (!holds) throw Error(ErrorKind::kUsage, message);
  };
  expect(page.width >= kLeastWidth && page.width <= 10000.0,
         fmt::format("expected a figure between {} and 10000 pixels wide, found {}", kLeastWidth, page.width));
  expect(page.png_scale > 0.0 && page.png_scale <= 16.0,
         fmt::format("expected a png scale above 0 and up to 16, found {}", page.png_scale));
  const bool id = !page.id_prefix.empty() &&
                  page.id_prefix.find_first_not_of(
                      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == std::string::npos &&
                  std::string("0123456789-").find(page.id_prefix.front()) == std::string::npos;
  expect(id, fmt::format("expected an id prefix of letters, digits, '-' and '_' that starts with a letter or '_', "
                         "found '{}'",
                         clean_text(page.id_prefix)));
}

}  // namespace attnflow::internal
