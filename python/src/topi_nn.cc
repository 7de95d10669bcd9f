// lathe.topi.nn: operators of neural networks, and products of matrices.
#include <fmt/format.h>

#include "compiler/topi/broadcast.h"
#include "compiler/topi/conv.h"
#include "compiler/topi/depth.h"
#include "compiler/topi/elementwise.h"
#include "compiler/topi/matmul.h"
#include "compiler/topi/normalize.h"
#include "compiler/topi/pad.h"
#include "compiler/topi/pool.h"
#include "compiler/topi/transform.h"
#include "python/src/cast.h"
#include "python/src/errors.h"
#include "python/src/topi_args.h"

namespace lathe::python {
namespace {

using te::Tensor;
using MaybeTensor = std::optional<Tensor>;

topi::Padding PaddingOf(const py::object& value) {
  if (PyUnicode_Check(value.ptr())) return py::cast<std::string>(value);
  return IntsOf(value);
}

topi::ConvOptions OptionsOf(const py::object& strides, const py::object& padding, const py::object& dilation,
                            int64_t groups, const std::string& layout, const std::string& kernel_layout,
                            const py::object& dtype) {
  return {.strides = IntsOf(strides),
          .dilation = IntsOf(dilation),
          .padding = PaddingOf(padding),
          .groups = groups,
          .data_layout = layout,
          .kernel_layout = kernel_layout,
          .out_dtype = TypeOrNone(dtype),
          .is_kernel_layout_free = false};
}

void BindProducts(py::module_& topi, py::module_& nn) {
  topi.def(
      "matmul",
      [](const Tensor& a, const Tensor& b, bool transp_a, bool transp_b) {
        return Value(topi::Matmul(a, b, transp_a, transp_b));
      },
      py::arg("a"), py::arg("b"), py::arg("transp_a") = false, py::arg("transp_b") = false);
  nn.def(
      "matmul",
      [](const Tensor& a, const Tensor& b, const MaybeTensor& bias, const py::object& dtype, bool transpose_a,
         bool transpose_b) { return Value(topi::NnMatmul(a, b, bias, TypeOrNone(dtype), transpose_a, transpose_b)); },
      py::arg("tensor_a"), py::arg("tensor_b"), py::arg("bias") = py::none(), py::arg("out_dtype") = py::none(),
      py::arg("transpose_a") = false, py::arg("transpose_b") = false);
  nn.def(
      "dense",
      [](const Tensor& data, const Tensor& weight, const MaybeTensor& bias, const py::object& dtype) {
        return Value(topi::NnMatmul(data, weight, bias, TypeOrNone(dtype), false, true));
      },
      py::arg("data"), py::arg("weight"), py::arg("bias") = py::none(), py::arg("out_dtype") = py::none());
  nn.def(
      "batch_matmul",
      [](const Tensor& a, const Tensor& b, const py::object&, const py::object& dtype, bool transpose_a,
         bool transpose_b) { return Value(topi::BatchMatmul(a, b, TypeOrNone(dtype), transpose_a, transpose_b)); },
      py::arg("tensor_a"), py::arg("tensor_b"), py::arg("oshape") = py::none(), py::arg("out_dtype") = py::none(),
      py::arg("transpose_a") = false, py::arg("transpose_b") = true);
}

// conv2d_nchw and the like: the layout is in the name.
void BindConvOf(py::module_& nn, const char* name, const std::string& layout, const std::string& kernel_layout,
                bool is_kernel_layout_free = false) {
  nn.def(
      name,
      [=](const Tensor& data, const Tensor& kernel, const py::object& stride, const py::object& padding,
          const py::object& dilation, const py::object& dtype) {
        topi::ConvOptions options = OptionsOf(stride, padding, dilation, 1, layout, kernel_layout, dtype);
        options.is_kernel_layout_free = is_kernel_layout_free;
        return Value(topi::Conv(data, kernel, options));
      },
      py::arg("Input"), py::arg("Filter"), py::arg("stride") = 1, py::arg("padding") = "VALID", py::arg("dilation") = 1,
      py::arg("out_dtype") = py::none());
}
void BindGroupConvOf(py::module_& nn, const char* name, const std::string& layout) {
  nn.def(
      name,
      [=](const Tensor& data, const Tensor& kernel, const py::object& stride, const py::object& padding,
          const py::object& dilation, int64_t groups, const py::object& dtype) {
        return Value(topi::Conv(data, kernel, OptionsOf(stride, padding, dilation, groups, layout, "", dtype)));
      },
      py::arg("Input"), py::arg("Filter"), py::arg("stride") = 1, py::arg("padding") = "VALID", py::arg("dilation") = 1,
      py::arg("groups") = 1, py::arg("out_dtype") = py::none());
}
void BindDepthwiseOf(py::module_& nn, const char* name, const std::string& layout) {
  nn.def(
      name,
      [=](const Tensor& data, const Tensor& kernel, const py::object& stride, const py::object& padding,
          const py::object& dilation, const py::object& dtype) {
        return Value(topi::DepthwiseConv2d(data, kernel, OptionsOf(stride, padding, dilation, 1, layout, "", dtype)));
      },
      py::arg("Input"), py::arg("Filter"), py::arg("stride"), py::arg("padding"), py::arg("dilation"),
      py::arg("out_dtype") = py::none());
}
void BindTransposeOf(py::module_& nn, const char* name) {
  nn.def(
      name,
      [](const Tensor& data, const Tensor& kernel, const py::object& strides, const py::object& padding,
         const py::object& dtype, const py::object& output_padding, int64_t groups) {
        return Value(topi::ConvTranspose(data, kernel, OptionsOf(strides, padding, py::none(), groups, "", "", dtype),
                                         IntsOf(output_padding)));
      },
      py::arg("Input"), py::arg("Filter"), py::arg("strides"), py::arg("padding"), py::arg("out_dtype"),
      py::arg("output_padding"), py::arg("groups") = 1);
}

void BindConvolutions(py::module_& nn) {
  nn.def(
      "conv1d",
      [](const Tensor& data, const Tensor& kernel, const py::object& strides, const py::object& padding,
         const py::object& dilation, int64_t groups, const std::string& layout, const std::string& kernel_layout,
         const py::object& dtype) {
        return Value(
            topi::Conv(data, kernel, OptionsOf(strides, padding, dilation, groups, layout, kernel_layout, dtype)));
      },
      py::arg("data"), py::arg("kernel"), py::arg("strides") = 1, py::arg("padding") = "VALID", py::arg("dilation") = 1,
      py::arg("groups") = 1, py::arg("data_layout") = "NCW", py::arg("kernel_layout") = "",
      py::arg("out_dtype") = py::none());
  nn.def(
      "conv2d",
      [](const Tensor& data, const Tensor& kernel, const py::object& strides, const py::object& padding,
         const py::object& dilation, const std::string& layout, const std::string& kernel_layout,
         const py::object& dtype) {
        return Value(topi::Conv(data, kernel, OptionsOf(strides, padding, dilation, 1, layout, kernel_layout, dtype)));
      },
      py::arg("data"), py::arg("kernel"), py::arg("strides"), py::arg("padding"), py::arg("dilation"),
      py::arg("data_layout") = "NCHW", py::arg("kernel_layout") = "", py::arg("out_dtype") = py::none());
  BindConvOf(nn, "conv1d_ncw", "NCW", "OIW");
  BindConvOf(nn, "conv1d_nwc", "NWC", "WIO");
  BindConvOf(nn, "conv2d_nchw", "NCHW", "OIHW");
  BindConvOf(nn, "conv2d_nhwc", "NHWC", "HWIO", /*is_kernel_layout_free=*/true);
  BindConvOf(nn, "conv2d_hwcn", "HWCN", "HWIO");
  BindGroupConvOf(nn, "conv3d_ncdhw", "NCDHW");
  BindGroupConvOf(nn, "conv3d_ndhwc", "NDHWC");
  BindGroupConvOf(nn, "group_conv1d_ncw", "NCW");
  BindGroupConvOf(nn, "group_conv1d_nwc", "NWC");
  BindGroupConvOf(nn, "group_conv2d_nchw", "NCHW");
  BindGroupConvOf(nn, "group_conv2d_nhwc", "NHWC");
  BindDepthwiseOf(nn, "depthwise_conv2d_nchw", "NCHW");
  BindDepthwiseOf(nn, "depthwise_conv2d_nhwc", "NHWC");
  for (const char* name :
       {"conv1d_transpose_ncw", "conv2d_transpose_nchw", "group_conv2d_transpose_nchw", "conv3d_transpose_ncdhw"})
    BindTransposeOf(nn, name);
  nn.def(
      "conv2d_NCHWc",
      [](const Tensor& data, const Tensor& kernel, const py::object& stride, const py::object& padding,
         const py::object& dilation, const std::string&, const std::string&, const py::object& dtype) {
        return Value(topi::Conv2dNCHWc(data, kernel, OptionsOf(stride, padding, dilation, 1, "", "", dtype)));
      },
      py::arg("data"), py::arg("kernel"), py::arg("stride"), py::arg("padding"), py::arg("dilation"), py::arg("layout"),
      py::arg("out_layout"), py::arg("out_dtype") = "float32");
}

void BindPools(py::module_& nn) {
  constexpr std::pair<const char*, const char*> kPools[] = {{"pool1d", "NCW"}, {"pool2d", "NCHW"}, {"pool3d", "NCDHW"}};
  for (const auto& [name, default_layout] : kPools)
    nn.def(
        name,
        [](const Tensor& data, const py::object& kernel, const py::object& stride, const py::object& dilation,
           const py::object& padding, const std::string& type, bool ceil_mode, const std::string& layout,
           bool count_include_pad) {
          return Value(topi::Pool(data, {.kernel = IntsOf(kernel),
                                         .strides = IntsOf(stride),
                                         .dilation = IntsOf(dilation),
                                         .padding = IntsOf(padding),
                                         .pool_type = type,
                                         .ceil_mode = ceil_mode,
                                         .layout = layout,
                                         .count_include_pad = count_include_pad}));
        },
        py::arg("data"), py::arg("kernel"), py::arg("stride"), py::arg("dilation"), py::arg("padding"),
        py::arg("pool_type"), py::arg("ceil_mode") = false, py::arg("layout") = default_layout,
        py::arg("count_include_pad") = true);
  constexpr std::pair<const char*, const char*> kAdaptive[] = {
      {"adaptive_pool1d", "NCW"}, {"adaptive_pool", "NCHW"}, {"adaptive_pool3d", "NCDHW"}};
  for (const auto& [name, default_layout] : kAdaptive)
    nn.def(
        name,
        [](const Tensor& data, const py::object& size, const std::string& type, const std::string& layout) {
          return Value(topi::AdaptivePool(data, IntsOf(size), type, layout));
        },
        py::arg("data"), py::arg("output_size"), py::arg("pool_type"), py::arg("layout") = default_layout);
  nn.def(
      "global_pool",
      [](const Tensor& data, const std::string& type, const std::string& layout) {
        return Value(topi::AdaptivePool(data, {1, 1}, type, layout));
      },
      py::arg("data"), py::arg("pool_type"), py::arg("layout") = "NCHW");
}

// The result, and the statistics as they were given.
std::vector<Tensor> BatchNormOf(const Tensor& data, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                                const Tensor& variance, std::optional<int64_t> axis, std::optional<double> epsilon,
                                std::optional<bool> center, std::optional<bool> scale) {
  std::vector<Tensor> results = {
      Value(topi::BatchNorm(data, gamma, beta, mean, variance, axis.value_or(1), epsilon.value_or(1e-5),
                            center.value_or(true), scale.value_or(true)))};
  for (const Tensor* given : {&mean, &variance})
    results.push_back(std::get<Tensor>(Value(topi::Binary("multiply", *given, topi::NumberOf(given->dtype(), 1)))));
  return results;
}

void BindNorms(py::module_& nn) {
  nn.def(
      "softmax", [](const Tensor& x, int64_t axis) { return Value(topi::Softmax(x, axis)); }, py::arg("x"),
      py::arg("axis") = -1);
  nn.def(
      "log_softmax", [](const Tensor& x, int64_t axis) { return Value(topi::LogSoftmax(x, axis)); }, py::arg("x"),
      py::arg("axis") = -1);
  nn.def("batch_norm", &BatchNormOf, py::arg("data"), py::arg("gamma"), py::arg("beta"), py::arg("moving_mean"),
         py::arg("moving_var"), py::arg("axis") = py::none(), py::arg("epsilon") = py::none(),
         py::arg("center") = py::none(), py::arg("scale") = py::none());
  nn.def(
      "layer_norm",
      [](const Tensor& data, const Tensor& gamma, const MaybeTensor& beta, const py::object& axis, double epsilon) {
        return Value(topi::LayerNorm(data, gamma, beta, IntsOf(axis), epsilon));
      },
      py::arg("data"), py::arg("gamma"), py::arg("beta"), py::arg("axis"), py::arg("epsilon") = 1e-5);
  nn.def(
      "group_norm",
      [](const Tensor& data, const Tensor& gamma, const Tensor& beta, int64_t groups, int64_t channel_axis,
         const py::object& axes, double epsilon) {
        return Value(topi::GroupNorm(data, gamma, beta, groups, channel_axis, IntsOf(axes), epsilon));
      },
      py::arg("data"), py::arg("gamma"), py::arg("beta"), py::arg("num_groups"), py::arg("channel_axis"),
      py::arg("axes"), py::arg("epsilon") = 1e-5);
  nn.def(
      "instance_norm",
      [](const Tensor& data, const Tensor& gamma, const Tensor& beta, int64_t channel_axis, const py::object& axis,
         double epsilon) { return Value(topi::InstanceNorm(data, gamma, beta, channel_axis, IntsOf(axis), epsilon)); },
      py::arg("data"), py::arg("gamma"), py::arg("beta"), py::arg("channel_axis"), py::arg("axis"),
      py::arg("epsilon") = 1e-5);
  nn.def(
      "rms_norm",
      [](const Tensor& data, const Tensor& weight, const py::object& axis, double epsilon) {
        return Value(topi::RmsNorm(data, weight, IntsOf(axis), epsilon));
      },
      py::arg("data"), py::arg("weight"), py::arg("axis"), py::arg("epsilon") = 1e-5);
  nn.def(
      "lrn",
      [](const Tensor& data, int64_t size, int64_t axis, float alpha, float beta, float bias) {
        return Value(topi::LocalResponseNorm(data, size, axis, alpha, beta, bias));
      },
      py::arg("data"), py::arg("size"), py::arg("axis") = 1, py::arg("alpha") = 0.0001, py::arg("beta") = 0.75,
      py::arg("bias") = 2.0);
}

void BindDepths(py::module_& nn) {
  nn.def(
      "space_to_depth",
      [](const Tensor& data, int64_t block_size, const std::string& layout) {
        return Value(topi::SpaceToDepth(data, block_size, layout));
      },
      py::arg("data"), py::arg("block_size"), py::arg("layout") = "NCHW");
  nn.def(
      "depth_to_space",
      [](const Tensor& data, int64_t block_size, const std::string& layout, const std::string& mode) {
        return Value(topi::DepthToSpace(data, block_size, layout, mode));
      },
      py::arg("data"), py::arg("block_size"), py::arg("layout") = "NCHW", py::arg("mode") = "DCR");
}

void BindElements(py::module_& nn) {
  nn.def("relu", [](const Tensor& x) { return Value(topi::Relu(x)); }, py::arg("x"));
  nn.def(
      "leaky_relu", [](const Tensor& x, double alpha) { return Value(topi::LeakyRelu(x, alpha)); }, py::arg("x"),
      py::arg("alpha"));
  nn.def(
      "prelu", [](const Tensor& x, const Tensor& slope, int64_t axis) { return Value(topi::Prelu(x, slope, axis)); },
      py::arg("x"), py::arg("slope"), py::arg("axis") = 1);
  nn.def("flatten", [](const Tensor& data) { return Value(topi::Flatten(data)); }, py::arg("data"));
  nn.def(
      "pad",
      [](const Tensor& data, const py::object& before, const py::object& after, const Expr& value,
         const std::string& name,
         const py::object&) { return Value(topi::Pad(data, IntsOf(before), IntsOf(after), value, {.name = name})); },
      py::arg("data"), py::arg("pad_before"), py::arg("pad_after") = py::none(), py::arg("pad_value") = 0.0,
      py::arg("name") = "PadInput", py::arg("attrs") = py::none());
  nn.def(
      "mirror_pad",
      [](const Tensor& data, const py::object& before, const py::object& after, const std::string& mode,
         const std::string& name) { return Value(topi::MirrorPad(data, IntsOf(before), IntsOf(after), mode, name)); },
      py::arg("data"), py::arg("pad_before"), py::arg("pad_after") = py::none(), py::arg("mode") = "SYMMETRIC",
      py::arg("name") = "MirrorPadInput");
  nn.def(
      "dilate",
      [](const Tensor& data, const py::object& strides, const Expr& value, const std::string& name) {
        return Value(topi::Dilate(data, IntsOf(strides), value, name));
      },
      py::arg("data"), py::arg("strides"), py::arg("dilation_value") = 0.0, py::arg("name") = "DilatedInput");
}

}  // namespace

void BindTopiNn(py::module_& module) {
  py::module_ nn = module.def_submodule("nn");
  BindProducts(module, nn);
  BindConvolutions(nn);
  BindPools(nn);
  BindNorms(nn);
  BindDepths(nn);
  BindElements(nn);
}

}  // namespace lathe::python
