// Any stream from a search: the coordinator takes what can be and ends the rest, whatever was asked.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tuner/job/search_messages.h"
#include "tuner/job/search_session.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lathe;
  if (size == 0) return 0;
  SearchSession session({});
  (void)session.Begin();
  if ((data[0] & 1) != 0) (void)session.Prepare(0);
  if ((data[0] & 2) != 0) (void)session.Propose(1, 4);
  if ((data[0] & 4) != 0) (void)session.ChooseFinalists(0);
  std::string stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  v1::SearchAnswer answer;
  for (;;) {
    const StatusOr<bool> is_whole = TakeSearchMessage(stream, answer);
    if (!is_whole.ok() || !*is_whole) break;
    if (answer.store().has_propose_trials()) (void)FromMessage(answer.store().propose_trials()).ok();
    if (!answer.has_store() && !session.Take(answer).ok()) break;
  }
  (void)session.Ended("ended");
  (void)session.Begin();
  return 0;
}
