#include "tuner/job/pruning_thread.h"

#include <gmock/gmock.h>

#include <future>

#include "tests/support/fake_clock.h"
#include "tuner/database/sqlite_store.h"

namespace lathe {
namespace {

class NoFiles : public BlobFiles {
 public:
  std::vector<BlobFile> ListFiles() override { return {}; }
  bool DeleteUnused(const BlobFile&) override { return false; }
};

TEST(PruningThread, PrunesByItselfAndSaysWhatWent) {
  FakeClock clock;
  auto store = *SqliteStore::OpenInMemory(clock);
  const int64_t device = store->RegisterDevice({"rpi4-01", "rpi4", "{}", 0})->id;
  const int64_t epoch = store->GrantLease(device, "job", std::chrono::seconds(30), 0)->epoch;
  ASSERT_TRUE(store->EndLease(device, epoch, LeaseState::kReleased).ok());
  clock.Advance(std::chrono::hours(24 * 10));
  NoFiles files;
  QuietGate gate;
  std::promise<std::string> said;
  const PruningTimes at_once{Duration(0), std::chrono::hours(1), Duration(0)};
  PruningThread pruning(at_once, *store, files, gate, [&](std::string words) { said.set_value(std::move(words)); });
  EXPECT_EQ(said.get_future().get(), "pruned the database: 1 leases");
}

TEST(PruningThread, EndsInTheMiddleOfItsWait) {
  FakeClock clock;
  auto store = *SqliteStore::OpenInMemory(clock);
  NoFiles files;
  QuietGate gate;
  const PruningThread pruning({}, *store, files, gate, [](const std::string&) {});
}

}  // namespace
}  // namespace lathe
