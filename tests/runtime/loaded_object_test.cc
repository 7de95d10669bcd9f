#include "runtime/loaded_object.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "runtime/kernel_abi.h"
#include "tests/property_runs.h"
#include "tests/support/temporary_folder.h"

namespace lathe {
namespace {

using testing::HasSubstr;

std::string ObjectPath(const char* name) { return std::string(LATHE_TEST_KERNEL_DIR "/") + name + ".so"; }

std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {(std::istreambuf_iterator<char>(file)), {}};
}

struct Sums {
  int32_t code;
  std::array<float, 4> values;
};
Sums CallAdd(const LoadedObject& object) {
  alignas(64) std::array<float, 4> a = {1, 2, 3, 4}, c = {};
  void* const buffers[] = {a.data(), a.data(), c.data()};
  const LatheContext context{};
  const auto add = reinterpret_cast<LatheKernel>(object.Find("add"));
  return {add(&context, buffers, nullptr), c};
}

TEST(LoadedObject, HasItsAddressesAndItsZerosInEachCopy) {
  const RuntimeResult<LoadedObject> first = LoadedObject::Map(ObjectPath("relocated"));
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(CallAdd(*first).values, (std::array<float, 4>{5, 6, 7, 8}));
  EXPECT_EQ(CallAdd(*first).values[0], 6);  // It has written to its own memory.
  const RuntimeResult<LoadedObject> second = LoadedObject::Map(ObjectPath("relocated"));
  EXPECT_EQ(CallAdd(*second).values[0], 5);
  EXPECT_NE(first->Find("add"), second->Find("add"));
}

TEST(LoadedObject, KnowsExportedSymbolsOnly) {
  const RuntimeResult<LoadedObject> object = LoadedObject::Map(ObjectPath("good"));
  ASSERT_TRUE(object.ok()) << object.error().message;
  EXPECT_NE(object->Find("matmul"), nullptr);
  EXPECT_EQ(object->Find("MatmulRows"), nullptr);
  EXPECT_EQ(object->Find(""), nullptr);
}

TEST(LoadedObject, HasNoMemoryThatIsBothWrittenAndRun) {
  const RuntimeResult<LoadedObject> object = LoadedObject::Map(ObjectPath("relocated"));
  ASSERT_TRUE(object.ok()) << object.error().message;
  std::ifstream maps("/proc/self/maps");
  int num_code = 0, num_data = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("relocated.so") == std::string::npos) continue;
    EXPECT_THAT(line, Not(HasSubstr("rwx")));
    num_code += line.find("r-xp") != std::string::npos ? 1 : 0;
    num_data += line.find("rw-p") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(num_code, 1);
  EXPECT_EQ(num_data, 1);
}

struct DemandCase {
  const char* file;
  const char* message;
};
class DemandTest : public testing::TestWithParam<DemandCase> {};
TEST_P(DemandTest, IsRefusedBeforeAnythingRuns) {
  const RuntimeResult<LoadedObject> object = LoadedObject::Map(ObjectPath(GetParam().file));
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.error().code, RuntimeCode::kFailedPrecondition);
  EXPECT_THAT(object.error().message, HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Files, DemandTest,
    testing::Values(DemandCase{"constructor", "load artifact: it has a constructor or a destructor"},
                    DemandCase{"thread_local", "load artifact: it has thread-local data"},
                    DemandCase{"undefined", "load artifact: it has relocations of a kind that artifacts do not have"}),
    [](const auto& info) { return info.param.file; });

TEST(LoadedObject, NamesWhatIsNoFileOfIts) {
  EXPECT_THAT(LoadedObject::Map(ObjectPath("absent")).error().message, HasSubstr("No such file or directory"));
  EXPECT_THAT(LoadedObject::Map("/dev/null").error().message,
              HasSubstr("no shared object of this machine's word size"));
}

// Whatever the headers say, nothing is read or written outside of the mapping.
TEST(LoadedObject, SurvivesDamagedFiles) {
  const TemporaryFolder folder;
  const std::string path = folder / "damaged.so", whole = FileText(ObjectPath("relocated"));
  const uint64_t seed = 65;
  uint64_t state = seed;
  int mapped = 0;
  const int rounds = PropertyRuns(3000);
  for (int round = 0; round < rounds; ++round) {
    std::string file = whole;
    for (int change = 0; change < 2; ++change) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const size_t place = (state >> 33) % 4 == 0 ? file.size() - 1 - (state >> 35) % 2500 : (state >> 35) % 1200;
      file[place] = static_cast<char>(state >> 20);
    }
    if ((state & 7) == 0) file.resize((state >> 30) % file.size());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << file;
    const RuntimeResult<LoadedObject> object = LoadedObject::Map(path);
    EXPECT_EQ(object.ok(), object.error().message.empty());
    mapped += object.ok() ? 1 : 0;
  }
  EXPECT_GT(mapped, 0) << "seed " << seed;
  EXPECT_LT(mapped, rounds) << "seed " << seed;
}

}  // namespace
}  // namespace lathe
