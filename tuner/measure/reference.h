// What a workload's outputs should be: its own unscheduled function, widened to float64, compiled for this machine and
// run once per (workload, seed) in a process of its own. Candidates are compared with it before their time counts.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "compiler/ir/stmt.h"
#include "runner/input_generator.h"
#include "support/clock.h"
#include "support/digest.h"
#include "support/status.h"
#include "tuner/worker/builder.h"

namespace lathe {

// The outputs as a blob: raw float64, one buffer after the other in parameter order.
struct Reference {
  Digest blob;
  int64_t size_bytes = 0;
  std::vector<double> tolerances;        // Largest |out - ref| that is right, one per output.
  std::vector<ParamRange> input_ranges;  // Of the inputs that it was made of.
};

// The role that knows what is right. Not thread-safe; children of a source end with the thread that uses it.
class ReferenceSource {
 public:
  virtual ~ReferenceSource() = default;
  // FailedPrecondition where the function itself is at fault (it crashes, writes outside its buffers, gives nothing
  // finite). ResourceExhausted, Unavailable: the same call may go well later.
  virtual StatusOr<Reference> Make(const Digest& workload, const PrimFunc& func, uint64_t seed) = 0;
  // Make ends soon, as does every later one; its outcome means nothing. From any thread.
  virtual void Cancel() {}
};
using ReferenceFactory = std::function<std::unique_ptr<ReferenceSource>()>;

// The blobs that references are kept in. Thread-safe.
class ReferenceBlobs {
 public:
  virtual ~ReferenceBlobs() = default;
  virtual StatusOr<Digest> PutBlob(std::string_view content) = 0;
  virtual bool HasBlob(const Digest& digest, int64_t size_bytes) = 0;
};

struct ReferenceOptions {
  std::string directory;  // For the table of references and files in the making; created if needed.
  std::string program;    // lathe-evaluate; empty: the one beside the running program.
  BuilderFactory builders;
  Duration time_limit = std::chrono::seconds(120);
  int64_t memory_limit_bytes = int64_t{4} << 30;
};

class ReferenceMaker : public ReferenceSource {
 public:
  // `blobs` must outlive the maker.
  ReferenceMaker(ReferenceOptions options, ReferenceBlobs& blobs);
  ~ReferenceMaker() override;
  StatusOr<Reference> Make(const Digest& workload, const PrimFunc& func, uint64_t seed) override;
  void Cancel() override;

 private:
  StatusOr<std::string> Compute(const PrimFunc& func, uint64_t seed, const std::vector<ParamRange>& ranges);
  StatusOr<std::string> BuildWidened(const PrimFunc& func);
  StatusOr<BuildOutcome> Build(const BuildRequest& request);

  const ReferenceOptions options_;
  ReferenceBlobs& blobs_;
  std::atomic<bool> is_cancelled_ = false;
  std::mutex mutex_;
  std::unique_ptr<Builder> builder_;  // Changes under mutex_.
};

}  // namespace lathe
