#include "attnflow/report/color_scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "attnflow/base/figures.h"
#include "attnflow/report/report_ranking.h"

namespace attnflow::internal {
namespace {

struct Lab {
  double l, a, b;
};

double linear(std::uint8_t channel) {
  const double c = channel / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

std::uint8_t gamma_coded(double c) {
  const double coded = c <= 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1.0 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(std::clamp(coded, 0.0, 1.0) * 255.0));
}

// sRGB to L*a*b* with white D65 (IEC 61966-2-1 and CIE 15) and back.
constexpr double kWhiteX = 0.95047;
constexpr double kWhiteZ = 1.08883;

Lab to_lab(Color color) {
  const double r = linear(color.red);
  const double g = linear(color.green);
  const double b = linear(color.blue);
  const auto f = [](double t) { return t > 216.0 / 24389.0 ? std::cbrt(t) : (24389.0 / 27.0 * t + 16.0) / 116.0; };
  const double x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / kWhiteX);
  const double y = f(0.2126729 * r + 0.7151522 * g + 0.0721750 * b);
  const double z = f((0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / kWhiteZ);
  return {116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)};
}

Color to_color(const Lab& lab) {
  const auto g = [](double t) { return t > 6.0 / 29.0 ? t * t * t : (116.0 * t - 16.0) * 27.0 / 24389.0; };
  const double fy = (lab.l + 16.0) / 116.0;
  const double x = g(fy + lab.a / 500.0) * kWhiteX;
  const double y = g(fy);
  const double z = g(fy - lab.b / 200.0) * kWhiteZ;
  return {gamma_coded(3.2404542 * x - 1.5371385 * y - 0.4985314 * z),
          gamma_coded(-0.9692660 * x + 1.8760108 * y + 0.0415560 * z),
          gamma_coded(0.0556434 * x - 0.2040259 * y + 1.0572252 * z)};
}

// Adjacent entries differ by at most one or two steps per channel.
constexpr std::size_t kColorSteps = 256;

template <typename Colors>
std::array<Color, kColorSteps> make_table(const Colors& colors) {
  std::array<Color, kColorSteps> table;
  for (std::size_t i = 0; i < kColorSteps; ++i) {
    const double position = static_cast<double>(i) / (kColorSteps - 1) * static_cast<double>(colors.size() - 1);
    const auto below = std::min(static_cast<std::size_t>(position), colors.size() - 2);
    const double share = position - static_cast<double>(below);
    const Lab from = to_lab(color_of(colors[below]));
    const Lab to = to_lab(color_of(colors[below + 1]));
    table[i] =
        to_color({std::lerp(from.l, to.l, share), std::lerp(from.a, to.a, share), std::lerp(from.b, to.b, share)});
  }
  return table;
}

}  // namespace

Color scale_color(double position) {
  static const std::array<Color, kColorSteps> table = make_table(figures::kBlues);
  const double clamped = std::clamp(position, 0.0, 1.0);
  return table[static_cast<std::size_t>(std::lround(clamped * (kColorSteps - 1)))];
}

Color signed_color(double position) {
  static const std::array<Color, kColorSteps> table = make_table(figures::kRedBlue);
  const double clamped = 0.5 * (1.0 + std::clamp(position, -1.0, 1.0));
  return table[static_cast<std::size_t>(std::lround(clamped * (kColorSteps - 1)))];
}

double luminance(Color color) {
  return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
}

Color readable_on(Color background) {
  const double ground = luminance(background) + 0.05;
  const double on_white = (luminance(kWhite) + 0.05) / ground;
  const double on_black = ground / (luminance(kBlack) + 0.05);
  return on_white > on_black ? kWhite : kBlack;
}

Color ColorScale::color(double value) const {
  if (!std::isfinite(value)) return kNoValue;
  if (is_above(value)) return kAbove;
  return has_signs ? signed_color(position(value)) : scale_color(position(value));
}

void ScaleBuilder::add(double value, bool aside, bool seen) {
  if (!std::isfinite(value)) return;
  if (seen) least_ = std::min(least_, value);
  double& largest = aside ? aside_ : rest_;
  largest = std::max(largest, value);
}

ColorScale ScaleBuilder::scale(bool of_flow) const {
  constexpr double kClose = 0.5;
  constexpr double kFloor = 0.01;
  // Invisible excess over the others is still on the scale.
  constexpr double kVisible = 1.01;
  ColorScale scale;
  const double largest = std::max(aside_, rest_);
  if (largest <= 0.0) return scale;
  const bool far = rest_ > 0.0 && aside_ > kFarAbove * rest_;
  scale.top = far ? std::max(rest_, kFloor * aside_) : largest;
  if (scale.top <= 0.0 || largest <= kVisible * scale.top) scale.top = largest;
  if (largest > scale.top) scale.above = largest;
  if (of_flow && least_ > 0.0 && least_ < scale.top && least_ >= kClose * scale.top) scale.low = least_;
  return scale;
}

ColorScale scale_of_drops(const ReportCheck& check) {
  ScaleBuilder builder;
  for (const CheckedToken& one : check.tokens) builder.add(std::abs(one.drop), false);
  ColorScale scale = builder.scale();
  scale.has_signs = true;
  return scale;
}

}  // namespace attnflow::internal
