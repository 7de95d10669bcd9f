// Matrix products of a BLAS library that is loaded by name: `side_blas libopenblas.so.0`.
#include <dlfcn.h>

#include "tests/bench/cpu_kernels/side.h"

namespace lathe {
namespace {

constexpr int kRowMajor = 101, kPlain = 111;  // Of the C interface to BLAS.
using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda,
                       const float* b, int ldb, float beta, float* c, int ldc);

class BlasSide : public Side {
 public:
  explicit BlasSide(const char* library) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) sgemm_ = reinterpret_cast<Sgemm>(dlsym(handle, "cblas_sgemm"));
    if (sgemm_ == nullptr) missing_ = dlerror();
  }
  std::string Open(const nlohmann::json& request) override {
    if (sgemm_ == nullptr) return missing_;
    if (request.at("kind") != "gemm") return "no such operation";
    const nlohmann::json& params = request.at("params");
    m_ = params.at("m"), n_ = params.at("n"), k_ = params.at("k"), batch_ = std::max(params.at("batch").get<int>(), 1);
    a_ = ReadTensor(request, "a"), b_ = ReadTensor(request, "b");
    c_.assign(size_t(batch_) * m_ * n_, 0);
    return "";
  }
  void Call() override {
    for (size_t i = 0; i < size_t(batch_); ++i)
      sgemm_(kRowMajor, kPlain, kPlain, m_, n_, k_, 1, &a_[i * m_ * k_], k_, &b_[i * k_ * n_], n_, 0, &c_[i * m_ * n_],
             n_);
  }
  std::span<const float> Output() const override { return c_; }
  std::vector<std::span<std::byte>> Memory() override {
    return {std::as_writable_bytes(std::span(a_)), std::as_writable_bytes(std::span(c_))};
  }

 private:
  Sgemm sgemm_ = nullptr;
  std::string missing_;
  int m_ = 0, n_ = 0, k_ = 0, batch_ = 1;
  std::vector<float> a_, b_, c_;
};

}  // namespace
}  // namespace lathe

int main(int argc, char** argv) {
  lathe::BlasSide side(argc > 1 ? argv[1] : "libblas.so.3");
  return lathe::Serve(side);
}
