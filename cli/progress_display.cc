#include "cli/progress_display.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/time_text.h"

namespace lathe {
namespace {

constexpr Duration kLineEvery = std::chrono::seconds(5);
constexpr int kBarCells = 24;

struct Totals {
  int64_t done = 0, budget = 0;
};

Totals TotalsOf(const JobProgress& progress) {
  Totals totals;
  for (const TaskStanding& task : progress.tasks) {
    totals.done += task.counted;
    totals.budget += task.is_closed ? task.counted + task.open : task.budget;
  }
  return totals;
}

std::string Remark(const JobProgress& progress) {
  if (progress.is_deciding && progress.trouble.empty() && progress.waits_for.empty())
    return "  measuring the best again";
  if (!progress.trouble.empty()) return "  trouble: " + progress.trouble;
  return progress.waits_for.empty() ? "" : "  waits: " + progress.waits_for;
}

std::string Bar(const Totals& totals) {
  const auto filled = totals.budget > 0
                          ? static_cast<size_t>(std::min<int64_t>(kBarCells, totals.done * kBarCells / totals.budget))
                          : 0;
  return "[" + std::string(filled, '#') + std::string(kBarCells - filled, '.') + "]";
}

}  // namespace

std::string ProgressDisplay::Render(const JobProgress& progress, TimePoint now) const {
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  std::string best;
  if (progress.tasks.size() == 1 && progress.tasks[0].best_ns > 0) {
    best = fmt::format("  best {}", FormatNs(progress.tasks[0].best_ns));
    if (progress.tasks[0].untuned_ns > 0)
      best += fmt::format(" ({:.2f} x)", progress.tasks[0].untuned_ns / progress.tasks[0].best_ns);
  }
  const std::string failed = progress.failed > 0 ? fmt::format(", {} failed", progress.failed) : "";
  return fmt::format("{} trials measured{}  {}{}{}", progress.measured, failed, FormatSeconds(seconds), best,
                     Remark(progress));
}

void ProgressDisplay::Show(const JobProgress& progress, TimePoint now) {
  if (is_terminal_) {
    std::string line = Bar(TotalsOf(progress)) + " " + Render(progress, now);
    const size_t width = line.size();
    if (width < width_) line += std::string(width_ - width, ' ');
    width_ = width;
    std::fprintf(stderr, "\r%s", line.c_str());
    std::fflush(stderr);
    return;
  }
  const bool is_news = progress.measured != shown_measured_ || Remark(progress) != shown_remark_;
  if (!is_news || (shown_at_ != TimePoint{} && now - shown_at_ < kLineEvery)) return;
  shown_at_ = now;
  shown_measured_ = progress.measured;
  shown_remark_ = Remark(progress);
  std::fprintf(stderr, "%s\n", Render(progress, now).c_str());
}

void ProgressDisplay::Clear() {
  if (width_ == 0) return;
  std::fprintf(stderr, "\r%s\r", std::string(width_, ' ').c_str());
  std::fflush(stderr);
  width_ = 0;
}

void ProgressDisplay::Say(const std::string& text) {
  Clear();
  std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace lathe
