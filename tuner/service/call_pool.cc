#include "tuner/service/call_pool.h"

namespace lathe {

CallPool::~CallPool() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void CallPool::Run(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  if (queue_.size() > idle_ && threads_.size() < max_threads_) threads_.emplace_back([this] { Serve(); });
  has_work_.notify_one();
}

void CallPool::Serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    has_work_.wait(lock, [this] { return is_closing_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace lathe
