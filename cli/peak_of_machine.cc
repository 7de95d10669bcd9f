#include "cli/peak_of_machine.h"

#include <thread>

#include "runtime/peak.h"
#include "runtime/thread_pool.h"

namespace lathe {

double MeasurePeakGflops(const std::vector<int>& cpus) {
  std::vector<double> figures(cpus.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < cpus.size(); ++i) {
    threads.emplace_back([&, i] {
      (void)PinCurrentThread(std::vector<int>{cpus[i]});
      figures[i] = MeasureMachinePeak().gflops_f32;
    });
  }
  for (std::thread& thread : threads) thread.join();
  double sum = 0;
  for (const double figure : figures) sum += figure;
  return sum;
}

}  // namespace lathe
