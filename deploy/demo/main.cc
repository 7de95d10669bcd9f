// lathe-demo-model resnet18 -o FILE [--seed N] [--width W] [--image S] [--with-data DIR]
// Writes a network of a published architecture as a real ONNX file, so that a demonstration needs no download.
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "deploy/demo/resnet18.h"
#include "deploy/demo/test_image.h"
#include "support/status_macros.h"

namespace lathe::demo {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  ResNet18Options network;
  std::string output, data_folder;
};

// Under another name first, so that nobody ever sees half a file.
Status WriteMessage(const google::protobuf::MessageLite& message, const std::string& path) {
  const std::string unfinished = path + ".part";
  {
    std::ofstream file(unfinished, std::ios::binary);
    if (!file || !message.SerializeToOstream(&file) || !file.flush()) {
      return Unavailable(
          fmt::format("write {}: {}; check the folder and free space", unfinished, std::strerror(errno)));
    }
  }
  std::error_code error;
  fs::rename(unfinished, path, error);
  if (error) return Unavailable(fmt::format("rename {} to {}: {}", unfinished, path, error.message()));
  return OkStatus();
}

onnx::TensorProto ImageProto(const ResNet18Options& network) {
  const std::vector<float> image = MakeTestImage(network.image, Random(Random::Mix(network.seed)));
  onnx::TensorProto tensor;
  tensor.set_name("image");
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (int64_t dim : {int64_t{1}, int64_t{3}, network.image, network.image}) tensor.add_dims(dim);
  tensor.set_raw_data(image.data(), image.size() * sizeof(float));
  return tensor;
}

Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const onnx::ModelProto model, BuildResNet18(arguments.network));
  RETURN_IF_ERROR(WriteMessage(model, arguments.output));
  if (arguments.data_folder.empty()) return OkStatus();
  const std::string folder = arguments.data_folder + "/test_data_set_0";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Unavailable(fmt::format("create {}: {}", folder, error.message()));
  return WriteMessage(ImageProto(arguments.network), folder + "/input_0.pb");
}

}  // namespace
}  // namespace lathe::demo

int main(int argc, char** argv) {
  lathe::demo::Arguments arguments;
  CLI::App app("Writes a demonstration network with seeded weights as an ONNX file");
  app.require_subcommand(1);
  CLI::App* resnet =
      app.add_subcommand("resnet18", "ResNet-18 of the published architecture, BatchNormalization kept as nodes");
  resnet->add_option("-o,--output", arguments.output, "the ONNX file to write")->required();
  resnet->add_option("--seed", arguments.network.seed, "of weights and input")->capture_default_str();
  resnet->add_option("--width", arguments.network.width, "factor on the number of channels")->capture_default_str();
  resnet->add_option("--image", arguments.network.image, "side of the square input image in pixels")
      ->capture_default_str();
  resnet->add_option("--with-data", arguments.data_folder, "also write DIR/test_data_set_0/input_0.pb");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const lathe::Status status = lathe::demo::Run(arguments);
  if (status.ok()) return 0;
  std::fputs((status.message() + "\n").c_str(), stderr);
  return status.code() == lathe::StatusCode::kInvalidArgument ? 2 : 1;
}
