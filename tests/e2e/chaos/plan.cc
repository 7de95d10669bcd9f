#include "tests/e2e/chaos/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "support/random.h"

namespace lathe::chaos {
namespace {

// What can be done to whom; `low_ms` to `high_ms` long.
struct Card {
  FaultKind kind;
  Role role;
  int low_ms, high_ms;
  int64_t low_detail = 0, high_detail = 0;
};
constexpr int kShort = 1'000, kLong = 8'000, kLongest = 40'000;
constexpr Card kCards[] = {
    {FaultKind::kKill, Role::kServer, 0, 4'000},
    {FaultKind::kKill, Role::kServer, 0, 4'000},
    {FaultKind::kKill, Role::kWorker, 0, 4'000},
    {FaultKind::kKill, Role::kDevice, 0, 4'000},
    {FaultKind::kKill, Role::kDevice, 0, 4'000},
    {FaultKind::kKillAll, Role::kServer, 500, 4'000},
    {FaultKind::kKill, Role::kBuilder, 2'000, 2'000},
    {FaultKind::kKill, Role::kRunner, 2'000, 2'000},
    {FaultKind::kKill, Role::kSearch, 2'000, 2'000},
    {FaultKind::kStop, Role::kServer, kShort, kLongest},
    {FaultKind::kStop, Role::kWorker, kShort, kLongest},
    {FaultKind::kStop, Role::kDevice, kShort, kLongest},
    {FaultKind::kStop, Role::kBuilder, kShort, kLong},
    {FaultKind::kStop, Role::kRunner, kShort, kLong},
    {FaultKind::kStop, Role::kSearch, kShort, kLong},
    {FaultKind::kCutLink, Role::kDevice, 0, 0},
    {FaultKind::kCutLink, Role::kWorker, 0, 0},
    {FaultKind::kCutLink, Role::kClient, 0, 0},
    {FaultKind::kDownLink, Role::kDevice, kShort, kLong},
    {FaultKind::kDownLink, Role::kWorker, kShort, kLong},
    {FaultKind::kDownLink, Role::kClient, kShort, kLong},
    {FaultKind::kSilentLink, Role::kDevice, kShort, kLongest},
    {FaultKind::kSilentLink, Role::kWorker, kShort, kLongest},
    {FaultKind::kSilentLink, Role::kClient, kShort, kLongest},
    {FaultKind::kSilentUp, Role::kDevice, kShort, kLongest},
    {FaultKind::kSilentUp, Role::kWorker, kShort, kLongest},
    {FaultKind::kSilentDown, Role::kDevice, kShort, kLongest},
    {FaultKind::kSilentDown, Role::kWorker, kShort, kLongest},
    {FaultKind::kHalfOpen, Role::kDevice, 0, 0},
    {FaultKind::kHalfOpen, Role::kWorker, 0, 0},
    {FaultKind::kHalfOpen, Role::kClient, 0, 0},
    {FaultKind::kSlowLink, Role::kDevice, kShort, kLongest, 2'000, 50'000},
    {FaultKind::kSlowLink, Role::kWorker, kShort, kLong, 2'000, 50'000},
    {FaultKind::kDelayedLink, Role::kDevice, kShort, kLong, 50, 1'000},
    {FaultKind::kDelayedLink, Role::kWorker, kShort, kLong, 50, 1'000},
    {FaultKind::kDelayedLink, Role::kClient, kShort, kLong, 50, 1'000},
    {FaultKind::kGarbledLink, Role::kDevice, kShort, kLong, 1, 20},
    {FaultKind::kGarbledLink, Role::kWorker, kShort, kLong, 1, 20},
    {FaultKind::kTornLink, Role::kDevice, 0, 0},
    {FaultKind::kTornLink, Role::kWorker, 0, 0},
    {FaultKind::kDiskFull, Role::kServer, kShort, kLong},
    {FaultKind::kDiskFull, Role::kServer, kShort, kLong},
    {FaultKind::kDiskFull, Role::kDevice, kShort, kLong},
    {FaultKind::kFewDescriptors, Role::kServer, kShort, kLong, 0, 4},
    {FaultKind::kFewDescriptors, Role::kDevice, kShort, kLong, 0, 4},
    {FaultKind::kFewDescriptors, Role::kWorker, kShort, kLong, 0, 4},
    {FaultKind::kClockStep, Role::kServer, kShort, kLong, -600, 600},
    {FaultKind::kClockStep, Role::kServer, kShort, kLong, -600, 600},
    {FaultKind::kClockStep, Role::kWorker, kShort, kLong, -600, 600},
    {FaultKind::kClockStep, Role::kDevice, kShort, kLong, -600, 600},
};
constexpr Duration kDeadTime = std::chrono::seconds(42);    // Longer than it may take to give its trials to others.
constexpr Duration kDeadAgain = std::chrono::seconds(240);  // From one dead board to the next.
constexpr Duration kFirstFault = std::chrono::seconds(6);   // By then something is being measured.

// What a fault has to itself.
enum class Seat { kProcess, kLink, kDisk, kDescriptors, kClock };
Seat SeatOf(FaultKind kind) {
  if (kind <= FaultKind::kDeadBoard) return Seat::kProcess;
  if (kind <= FaultKind::kTornLink) return Seat::kLink;
  if (kind == FaultKind::kDiskFull) return Seat::kDisk;
  return kind == FaultKind::kFewDescriptors ? Seat::kDescriptors : Seat::kClock;
}

class Draw {
 public:
  Draw(uint64_t seed, Duration length, const Members& members) : random_(seed), length_(length), members_(members) {}

  std::vector<Fault> Faults() {
    Duration next_death = kFirstFault;
    for (Duration now = kFirstFault; now < length_; now += Within(100, PaceAt(now))) {
      if (now >= next_death && now + kDeadTime <= length_) {
        AddIfFree(DeadBoard(now));
        next_death = now + kDeadAgain;
      }
      Play(now);
    }
    std::stable_sort(faults_.begin(), faults_.end(), [](const Fault& a, const Fault& b) { return a.at < b.at; });
    return std::move(faults_);
  }

 private:
  Duration Within(int64_t low_ms, int64_t high_ms) { return std::chrono::milliseconds(Between(low_ms, high_ms)); }
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(high - low + 1)));
  }
  // The longest time from one fault to the next: storms and quieter times, drawn anew every half minute.
  int64_t PaceAt(Duration now) {
    constexpr int64_t kPaces[] = {800, 3'000, 8'000};
    constexpr Duration kLasts = std::chrono::seconds(30);
    if (now >= pace_until_) {
      pace_ = kPaces[random_.Below(std::size(kPaces))];
      pace_until_ = now + kLasts;
    }
    return pace_;
  }
  int MembersOf(Role role) const {
    if (role == Role::kWorker || role == Role::kBuilder) return members_.workers;
    if (role == Role::kDevice || role == Role::kRunner) return members_.devices;
    return role == Role::kClient ? members_.clients : 1;
  }
  // Long faults are rare: one in four of those that may be is.
  Duration LengthOf(const Card& card) {
    const bool is_long = card.high_ms > kLong && random_.Below(4) == 0;
    return Within(card.low_ms, is_long ? card.high_ms : std::min(card.high_ms, kLong));
  }
  Fault DeadBoard(Duration now) {
    return {now,
            kDeadTime,
            FaultKind::kDeadBoard,
            Role::kDevice,
            static_cast<int>(random_.Below(static_cast<uint64_t>(members_.devices))),
            0};
  }
  // The next card that can be played now, if one can: the others wait for their turn.
  void Play(Duration now) {
    if (deck_.empty()) Shuffle();
    for (size_t i = 0; i < deck_.size(); ++i) {
      const Card& card = *deck_[i];
      Fault fault{now, std::min(LengthOf(card), length_ - now), card.kind, card.role, 0, 0};
      fault.which = static_cast<int>(random_.Below(static_cast<uint64_t>(MembersOf(card.role))));
      fault.detail = Between(card.low_detail, card.high_detail);
      if (!AddIfFree(fault)) continue;
      deck_.erase(deck_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
  void Shuffle() {
    for (const Card& card : kCards) {
      if (card.kind == FaultKind::kDiskFull && !members_.has_disks) continue;
      deck_.insert(deck_.begin() + static_cast<std::ptrdiff_t>(random_.Below(deck_.size() + 1)), &card);
    }
  }
  bool AddIfFree(const Fault& fault) {
    const auto clashes = [&](const Fault& other) {
      const bool is_at_once = fault.at < other.at + other.lasts && other.at < fault.at + fault.lasts;
      return is_at_once && (IsSame(fault, other) || Spoils(fault, other) || Spoils(other, fault));
    };
    if (std::any_of(faults_.begin(), faults_.end(), clashes)) return false;
    faults_.push_back(fault);
    return true;
  }
  static bool IsSame(const Fault& a, const Fault& b) {
    const bool is_of_all = a.kind == FaultKind::kKillAll || b.kind == FaultKind::kKillAll;
    if (is_of_all && SeatOf(a.kind) == Seat::kProcess && SeatOf(b.kind) == Seat::kProcess) return true;
    return SeatOf(a.kind) == SeatOf(b.kind) && a.role == b.role && a.which == b.which;
  }
  // How long a dead board's trials stay with it is the server's doing only while nothing is done to the server, and
  // the trials must be the board's when it dies.
  static bool Spoils(const Fault& fault, const Fault& death) {
    if (death.kind != FaultKind::kDeadBoard) return false;
    return fault.role == Role::kServer || (fault.role == Role::kDevice && fault.which == death.which);
  }

  Random random_;
  const Duration length_;
  const Members& members_;
  int64_t pace_ = 0;
  Duration pace_until_{};
  std::vector<const Card*> deck_;
  std::vector<Fault> faults_;
};

bool HasDetail(FaultKind kind) {
  return kind == FaultKind::kSlowLink || kind == FaultKind::kDelayedLink || kind == FaultKind::kGarbledLink ||
         kind == FaultKind::kFewDescriptors || kind == FaultKind::kClockStep;
}

}  // namespace

std::string_view FaultName(FaultKind kind) {
  constexpr std::array<std::string_view, 17> kNames = {"kill",
                                                       "stop",
                                                       "kill all with",
                                                       "let die",
                                                       "cut the link of",
                                                       "take down the link of",
                                                       "silence the link of",
                                                       "silence up",
                                                       "silence down",
                                                       "leave half-open the link of",
                                                       "slow down the link of",
                                                       "delay the link of",
                                                       "garble the link of",
                                                       "tear the link of",
                                                       "fill the disk of",
                                                       "leave few descriptors to",
                                                       "step the clock of"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view RoleName(Role role) {
  constexpr std::array<std::string_view, 7> kNames = {"server", "worker", "device", "builder",
                                                      "runner", "search", "client"};
  return kNames[static_cast<size_t>(role)];
}

std::string Fault::ToString() const {
  const auto seconds = [](Duration time) { return std::chrono::duration<double>(time).count(); };
  return fmt::format("{:.1f} s: {} {} {} for {:.1f} s{}", seconds(at), FaultName(kind), RoleName(role), which,
                     seconds(lasts), HasDetail(kind) ? fmt::format(" ({})", detail) : "");
}

std::vector<Fault> DrawPlan(uint64_t seed, Duration length, const Members& members) {
  return Draw(seed, length, members).Faults();
}

}  // namespace lathe::chaos
