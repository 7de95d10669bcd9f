// One tensor intrinsic that is there without being registered: two functions of a file of compiler/schedule/intrinsics,
// in which words in capitals are what the row says. Private to this folder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct IntrinRow {
  std::string name;
  std::string_view file, description, implementation;
  std::map<std::string, std::string, std::less<>> words;  // What each stands for, as it is written in a text.
};

// ldmatrix, mma.sync and wmma of NVIDIA GPUs.
std::vector<IntrinRow> CudaIntrinRows();
// The one of AMX that is called so: tiles come in too many shapes for a table.
std::optional<IntrinRow> AmxIntrinRow(std::string_view name);

}  // namespace lathe
