// The install tree of this build, as somebody else's project finds it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/e2e/program_run.h"
#include "tests/support/temporary_folder.h"

namespace lathe {

// Made once, and moved after it was made: nothing of it may know where it was.
inline const std::string& InstallTree() {
  static const TemporaryFolder folder;
  static const std::string prefix = [] {
    const ProgramRun run = RunProgram({LATHE_CMAKE, "--install", LATHE_BUILD_DIR, "--prefix", folder / "first"});
    EXPECT_EQ(run.code, 0) << run.err;
    std::filesystem::rename(folder / "first", folder / "moved");
    return folder / "moved";
  }();
  return prefix;
}

}  // namespace lathe
