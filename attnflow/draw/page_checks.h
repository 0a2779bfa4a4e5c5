// What every page that is drawn asks of its options.
#ifndef ATTNFLOW_DRAW_PAGE_CHECKS_H_
#define ATTNFLOW_DRAW_PAGE_CHECKS_H_

#include <string>

namespace attnflow::internal {

struct PageSettings {
  double width = 0.0;
  double png_scale = 0.0;
  std::string id_prefix;
};

// Throws Error(kUsage): a width outside [320, 10000], a scale outside (0, 16], an id prefix that is no name in XML and
// CSS.
void check_page(const PageSettings& page);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_PAGE_CHECKS_H_
