// oneDNN. Weights are brought into the library's own layout before; images, too, where it wants another one: nobody
// pays for that, as in a network that it runs alone.
#include <dnnl.hpp>

#include "tests/bench/cpu_kernels/side.h"

namespace lathe {
namespace {

using dnnl::memory;
using Dims = memory::dims;
using Tag = memory::format_tag;
constexpr auto kF32 = memory::data_type::f32;
constexpr auto kInference = dnnl::prop_kind::forward_inference;

Tag PlainTag(size_t rank) {
  constexpr Tag kTags[] = {Tag::undef, Tag::a, Tag::ab, Tag::abc, Tag::abcd, Tag::abcde};
  return kTags[rank];
}
using Type = memory::data_type;
memory::desc Plain(const Dims& dims, Type type = kF32) { return {dims, type, PlainTag(dims.size())}; }
memory::desc Any(const Dims& dims, Type type = kF32) { return {dims, type, Tag::any}; }

class DnnlSide : public Side {
 public:
  std::string Open(const nlohmann::json& request) override {
    arguments_.clear();
    is_turned_ = false;
    request_ = request;
    const std::string kind = request.at("kind");
    for (const auto& [name, open] : kKinds)
      if (name == kind) return (this->*open)(request.at("params")), "";
    return "no such operation";
  }
  void Call() override {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }
  std::span<const float> Output() const override {
    // In the plain layout, whatever it is computed in; a transposition is one by its layout.
    memory from = arguments_.at(DNNL_ARG_DST);
    plain_ = is_turned_ ? from : memory(Plain(from.get_desc().dims()), engine_);  // float32, whatever it was.
    if (!is_turned_) dnnl::reorder(from, plain_).execute(stream_, from, plain_);
    stream_.wait();
    return {static_cast<const float*>(plain_.get_data_handle()), plain_.get_desc().get_size() / sizeof(float)};
  }
  std::vector<std::span<std::byte>> Memory() override {
    std::vector<std::span<std::byte>> all;
    for (const int each : {DNNL_ARG_SRC, DNNL_ARG_SRC_0, DNNL_ARG_SRC_1, DNNL_ARG_DST})
      if (const auto found = arguments_.find(each); found != arguments_.end())
        all.emplace_back(static_cast<std::byte*>(found->second.get_data_handle()), found->second.get_desc().get_size());
    return all;
  }

 private:
  // Tensor `name` of the workload, in the layout of `desc`.
  memory Given(const std::string& name, const Dims& dims, const memory::desc& desc) {
    std::vector<std::byte> values = ReadBytes(request_, name);
    memory from(Plain(dims, TypeOf(name)), engine_, values.data()), to(desc, engine_);
    dnnl::reorder(from, to).execute(stream_, from, to);
    stream_.wait();
    return to;
  }
  Type TypeOf(const std::string& name) const {
    const std::string type = request_.at("types").value(name, "float32");
    return type == "uint8"      ? Type::u8
           : type == "int8"     ? Type::s8
           : type == "int32"    ? Type::s32
           : type == "bfloat16" ? Type::bf16
                                : kF32;
  }
  void Begin(dnnl::primitive primitive, const memory::desc& dst) {
    primitive_ = std::move(primitive);
    arguments_[DNNL_ARG_DST] = memory(dst, engine_);
  }
  static Dims Shape(const nlohmann::json& params) { return params.at("shape").get<Dims>(); }

  void Gemm(const nlohmann::json& params) {
    const int64_t m = params.at("m"), n = params.at("n"), k = params.at("k"), batch = params.at("batch");
    const auto dims = [&](int64_t rows, int64_t columns) {
      return batch ? Dims{batch, rows, columns} : Dims{rows, columns};
    };
    const Type b_type = TypeOf("b");
    const memory::desc b = params.at("constant") ? Any(dims(k, n), b_type) : Plain(dims(k, n), b_type);
    const dnnl::matmul::primitive_desc made({Plain(dims(m, k), TypeOf("a")), b, Plain(dims(m, n), TypeOf("out"))},
                                            engine_);
    Begin(dnnl::matmul(made), made.dst_desc());
    arguments_[DNNL_ARG_SRC] = Given("a", dims(m, k), made.src_desc());
    arguments_[DNNL_ARG_WEIGHTS] = Given("b", dims(k, n), made.weights_desc());
  }
  void Conv(const nlohmann::json& params) {
    const int64_t n = params.at("n"), c = params.at("c"), h = params.at("h"), k = params.at("k"), r = params.at("r"),
                  stride = params.at("stride"), pad = params.at("pad"), groups = params.at("groups"),
                  dilation = params.at("dilation"), out = (h + 2 * pad - dilation * (r - 1) - 1) / stride + 1;
    const Dims src{n, c, h, h}, dst{n, k, out, out};
    const Dims weights = groups == 1 ? Dims{k, c, r, r} : Dims{groups, k / groups, c / groups, r, r};
    dnnl::post_ops relu;
    relu.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(relu);
    const dnnl::convolution_forward::desc wanted(kInference, dnnl::algorithm::convolution_auto, Any(src), Any(weights),
                                                 Plain({k}), Any(dst), {stride, stride}, {dilation - 1, dilation - 1},
                                                 {pad, pad}, {pad, pad});
    const dnnl::convolution_forward::primitive_desc made(wanted, attributes, engine_);
    Begin(dnnl::convolution_forward(made), made.dst_desc());
    arguments_[DNNL_ARG_SRC] = Given("x", src, made.src_desc());
    arguments_[DNNL_ARG_WEIGHTS] = Given("w", weights, made.weights_desc());
    arguments_[DNNL_ARG_BIAS] = Given("bias", {k}, made.bias_desc());
  }
  void Softmax(const nlohmann::json& params) {
    const Dims shape = Shape(params);
    const dnnl::softmax_forward::primitive_desc made({kInference, Plain(shape), 1}, engine_);
    Begin(dnnl::softmax_forward(made), made.dst_desc());
    arguments_[DNNL_ARG_SRC] = Given("x", shape, made.src_desc());
  }
  void LayerNorm(const nlohmann::json& params) {
    const Dims shape = Shape(params);
    using Flags = dnnl::normalization_flags;
    const dnnl::layer_normalization_forward::primitive_desc made(
        {kInference, Plain(shape), 1e-5F, Flags::use_scale | Flags::use_shift}, engine_);
    Begin(dnnl::layer_normalization_forward(made), made.dst_desc());
    arguments_[DNNL_ARG_SRC] = Given("x", shape, made.src_desc());
    arguments_[DNNL_ARG_SCALE] = Given("scale", {shape[1]}, Plain({shape[1]}));
    arguments_[DNNL_ARG_SHIFT] = Given("shift", {shape[1]}, Plain({shape[1]}));
  }
  void Reduce(const nlohmann::json& params, dnnl::algorithm how) {
    const Dims shape = Shape(params);
    Dims dst = shape;
    dst[params.at("axis").get<size_t>()] = 1;
    const dnnl::reduction::primitive_desc made({how, Plain(shape), Plain(dst), 0, 0}, engine_);
    Begin(dnnl::reduction(made), made.dst_desc());
    arguments_[DNNL_ARG_SRC] = Given("x", shape, made.src_desc());
  }
  void ReduceSum(const nlohmann::json& params) { Reduce(params, dnnl::algorithm::reduction_sum); }
  void ReduceMax(const nlohmann::json& params) { Reduce(params, dnnl::algorithm::reduction_max); }
  void Pool(const nlohmann::json& params, dnnl::algorithm how) {
    const Dims src = Shape(params);
    const int64_t r = params.at("r"), stride = params.at("stride"), pad = params.at("pad"),
                  out = (src[2] + 2 * pad - r) / stride + 1;
    const Dims dst{src[0], src[1], out, out};
    const dnnl::pooling_forward::primitive_desc made({kInference,
                                                      how,
                                                      {src, kF32, src[1] % 16 == 0 ? Tag::nChw16c : Tag::nchw},
                                                      Any(dst),
                                                      {stride, stride},
                                                      {r, r},
                                                      {pad, pad},
                                                      {pad, pad}},
                                                     engine_);
    Begin(dnnl::pooling_forward(made), made.dst_desc());
    arguments_[DNNL_ARG_SRC] = Given("x", src, made.src_desc());
  }
  void MaxPool(const nlohmann::json& params) { Pool(params, dnnl::algorithm::pooling_max); }
  void AvgPool(const nlohmann::json& params) { Pool(params, dnnl::algorithm::pooling_avg_exclude_padding); }
  void Transpose(const nlohmann::json& params) {
    const Dims shape = Shape(params), order = params.at("order").get<Dims>();
    Dims strides(shape.size()), dst;
    for (const int64_t axis : order) dst.push_back(shape[static_cast<size_t>(axis)]);
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0; stride *= dst[i]) strides[static_cast<size_t>(order[i])] = stride;
    const memory src = Given("x", shape, Plain(shape));
    const memory::desc turned(shape, kF32, strides);
    Begin(dnnl::reorder(src, memory(turned, engine_)), turned);
    is_turned_ = true;
    arguments_[DNNL_ARG_SRC] = src;
  }
  void AddRelu(const nlohmann::json& params) {
    const Dims shape = Shape(params);
    dnnl::post_ops relu;
    relu.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(relu);
    const dnnl::binary::desc wanted(dnnl::algorithm::binary_add, Plain(shape), Plain(shape), Plain(shape));
    const dnnl::binary::primitive_desc made(wanted, attributes, engine_);
    Begin(dnnl::binary(made), made.dst_desc());
    arguments_[DNNL_ARG_SRC_0] = Given("x", shape, Plain(shape));
    arguments_[DNNL_ARG_SRC_1] = Given("y", shape, Plain(shape));
  }

  using Opener = void (DnnlSide::*)(const nlohmann::json&);
  static const std::vector<std::pair<std::string, Opener>> kKinds;

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  mutable dnnl::stream stream_{engine_};
  dnnl::primitive primitive_;
  std::unordered_map<int, memory> arguments_;
  mutable memory plain_;
  bool is_turned_ = false;
  nlohmann::json request_;
};

const std::vector<std::pair<std::string, DnnlSide::Opener>> DnnlSide::kKinds = {
    {"gemm", &DnnlSide::Gemm},
    {"int8_gemm", &DnnlSide::Gemm},
    {"bf16_gemm", &DnnlSide::Gemm},
    {"conv", &DnnlSide::Conv},
    {"softmax", &DnnlSide::Softmax},
    {"layer_norm", &DnnlSide::LayerNorm},
    {"reduce_sum", &DnnlSide::ReduceSum},
    {"reduce_max", &DnnlSide::ReduceMax},
    {"max_pool", &DnnlSide::MaxPool},
    {"avg_pool", &DnnlSide::AvgPool},
    {"transpose", &DnnlSide::Transpose},
    {"add_relu", &DnnlSide::AddRelu},
};

}  // namespace
}  // namespace lathe

int main() {
  lathe::DnnlSide side;
  return lathe::Serve(side);
}
