#include "tuner/search/population.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using testing::ElementsAre;

struct Ranked {
  double score;
  int64_t stores;
};

// The scores of what is taken, in order.
std::vector<double> Taken(const std::vector<Ranked>& all, size_t count) {
  std::vector<Member> members, taken;
  for (const Ranked& one : all) members.push_back({.stores = one.stores, .score = one.score});
  TakeBest(members, count, 0, [](const Member& member) { return member.score; }, taken);
  EXPECT_EQ(members.size() + taken.size(), all.size()) << "the others stay";
  std::vector<double> scores;
  for (const Member& member : taken) scores.push_back(member.score);
  return scores;
}

TEST(TakeBest, GoesByRankWhereCodeIsAboutAsLong) {
  EXPECT_THAT(Taken({{1, 60}, {3, 100}, {2, 60}, {4, 110}}, 3), ElementsAre(4, 3, 2));
  EXPECT_THAT(Taken({{2, 0}, {1, 0}}, 5), ElementsAre(2, 1)) << "no more than there are";
}

TEST(TakeBest, LetsCodeOfLessThanHalfTheLengthPassAFewRanks) {
  EXPECT_THAT(Taken({{4, 400}, {3, 200}, {2, 300}, {1, 99}}, 2), ElementsAre(1, 4))
      << "only 99 stores are less than half of 400";
  EXPECT_THAT(Taken({{9, 400}, {8, 400}, {7, 400}, {6, 400}, {5, 400}, {4, 400}, {3, 400}, {2, 400}, {1, 10}}, 1),
              ElementsAre(9))
      << "eight ranks are alike, the ninth is worse";
}

}  // namespace
}  // namespace lathe
