#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/explanation.h"
#include "cli/time_text.h"

namespace lathe {
namespace {

constexpr double kWidth = 420, kHeight = 240, kLeft = 70, kRight = 12, kTop = 28, kBottom = 34;
constexpr int kColumns = 2;

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

// One task in the box whose upper left corner is (x, y).
class Panel {
 public:
  Panel(const v1::TaskExplanation& told, double x, double y) : told_(told), x_(x), y_(y) {
    for (const double ns : told.result_ns()) See(ns);
    for (const double ns : {told.untuned_ns(), told.floor_ns(), told.best_ns()}) See(ns);
    low_ = std::floor(std::log10(low_) * 4) / 4;
    high_ = std::max(low_ + 0.25, std::ceil(std::log10(high_) * 4) / 4);
  }

  std::string Draw() const {
    std::string svg =
        fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"box\"/>\n", x_ + kLeft,
                    y_ + kTop, kWidth - kLeft - kRight, kHeight - kTop - kBottom);
    svg += Text(x_ + kLeft, y_ + kTop - 8, "start", told_.name());
    svg += Text(x_ + kWidth - kRight, y_ + kHeight - kBottom + 24, "end",
                fmt::format("{} results", told_.result_ns_size()));
    for (double at = low_; at <= high_ + 1e-9; at += (high_ - low_) / 4) {
      const double ns = std::pow(10, at);
      svg += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"grid\"/>\n", x_ + kLeft,
                         Y(ns), x_ + kWidth - kRight, Y(ns));
      svg += Text(x_ + kLeft - 6, Y(ns) + 4, "end", FormatNs(ns));
    }
    svg += Level(told_.untuned_ns(), "untuned") + Level(told_.floor_ns(), "peak");
    return svg + Results();
  }

 private:
  void See(double ns) {
    if (ns <= 0) return;
    low_ = low_ == 0 ? ns : std::min(low_, ns);
    high_ = std::max(high_, ns);
  }
  double X(int result) const {
    const double count = std::max(1, told_.result_ns_size());
    return x_ + kLeft + (kWidth - kLeft - kRight) * result / count;
  }
  double Y(double ns) const {
    const double share = (std::log10(ns) - low_) / (high_ - low_);
    return y_ + kHeight - kBottom - (kHeight - kTop - kBottom) * share;
  }
  static std::string Text(double x, double y, const char* anchor, const std::string& text) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, Escaped(text));
  }
  std::string Level(double ns, const char* name) const {
    if (ns <= 0) return "";
    return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"level\"/>\n", x_ + kLeft,
                       Y(ns), x_ + kWidth - kRight, Y(ns)) +
           Text(x_ + kWidth - kRight - 4, Y(ns) - 3, "end", name);
  }
  std::string Results() const {
    std::string dots, line;
    double best = 0;
    for (int i = 0; i < told_.result_ns_size(); ++i) {
      const double ns = told_.result_ns(i);
      if (ns <= 0) continue;
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.6\" class=\"result\"/>\n", X(i + 1), Y(ns));
      if (best > 0 && ns >= best) continue;
      line +=
          best == 0 ? fmt::format("M{:.1f} {:.1f}", X(i + 1), Y(ns)) : fmt::format("H{:.1f}V{:.1f}", X(i + 1), Y(ns));
      best = ns;
    }
    if (best == 0) return dots;
    return dots + fmt::format("<path d=\"{}H{:.1f}\" class=\"best\"/>\n", line, X(told_.result_ns_size()));
  }

  const v1::TaskExplanation& told_;
  const double x_, y_;
  double low_ = 0, high_ = 0;  // Of the axis: nanoseconds, then their decimal logarithms.
};

bool HasTime(const v1::TaskExplanation& told) {
  return std::any_of(told.result_ns().begin(), told.result_ns().end(), [](double ns) { return ns > 0; });
}

}  // namespace

std::string DrawConvergence(std::span<const v1::TaskExplanation> tasks) {
  std::string panels;
  int count = 0;
  for (const v1::TaskExplanation& told : tasks) {
    if (!HasTime(told)) continue;
    panels += Panel(told, kWidth * (count % kColumns), kHeight * (count / kColumns)).Draw();
    ++count;
  }
  const int rows = (count + kColumns - 1) / kColumns;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
      "<style>text{{font:11px sans-serif;fill:#333}}.box{{fill:none;stroke:#888}}.grid{{stroke:#e4e4e4}}"
      ".level{{stroke:#b06000;stroke-dasharray:5 4}}.result{{fill:#7a9cc6}}"
      ".best{{fill:none;stroke:#123f73;stroke-width:1.6}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{2}</svg>\n",
      kWidth * std::min(count, kColumns), kHeight * rows, panels);
}

}  // namespace lathe
