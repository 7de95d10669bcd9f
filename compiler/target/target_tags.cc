#include "compiler/target/target_tags.h"

#include <fmt/format.h>

#include <algorithm>

namespace lathe {
namespace {

// GPUs of NVIDIA's of one architecture: those of a row differ in nothing that a schedule asks.
struct CudaRow {
  std::string_view arch;
  int registers_per_block, l2_mib;  // 0: not said.
  std::string_view names;           // Of "nvidia/...", separated by spaces.
};
constexpr CudaRow kCuda[] = {
    {"sm_20", 32768, 0,
     "geforce-gtx-465 geforce-gtx-470 geforce-gtx-480 geforce-gtx-480m geforce-gtx-570 geforce-gtx-580 "
     "geforce-gtx-590 quadro-plex-7000 tesla-c2050 tesla-c2070 tesla-c2075"},
    {"sm_21", 32768, 0,
     "geforce-410m geforce-610m geforce-705m geforce-710m geforce-800m geforce-820m geforce-gt-415m "
     "geforce-gt-420m geforce-gt-430 geforce-gt-435m geforce-gt-440 geforce-gt-445m geforce-gt-520 "
     "geforce-gt-520m geforce-gt-520mx geforce-gt-525m geforce-gt-540m geforce-gt-550m geforce-gt-555m "
     "geforce-gt-610 geforce-gt-620 geforce-gt-620m geforce-gt-625m geforce-gt-630 geforce-gt-630m "
     "geforce-gt-635m geforce-gt-640-gddr3 geforce-gt-720m geforce-gt-730-ddr3,128bit geforce-gts-450 "
     "geforce-gtx-460 geforce-gtx-460m geforce-gtx-470m geforce-gtx-485m geforce-gtx-550-ti geforce-gtx-560-ti "
     "geforce-gtx-560m geforce-gtx-570m geforce-gtx-580m geforce-gtx-670m geforce-gtx-675m nvidia-nvs-310 "
     "nvidia-nvs-315 nvs-4200m nvs-5200m nvs-5400m"},
    {"sm_30", 65536, 0,
     "geforce-gt-640m geforce-gt-640m-le geforce-gt-645m geforce-gt-650m geforce-gt-730m geforce-gt-735m "
     "geforce-gt-740 geforce-gt-740m geforce-gt-745m geforce-gt-750m geforce-gt-755m geforce-gtx-650 "
     "geforce-gtx-650-ti geforce-gtx-650-ti-boost geforce-gtx-660 geforce-gtx-660-ti geforce-gtx-660m "
     "geforce-gtx-670 geforce-gtx-670mx geforce-gtx-675mx geforce-gtx-680 geforce-gtx-680m geforce-gtx-680mx "
     "geforce-gtx-690 geforce-gtx-760 geforce-gtx-760m geforce-gtx-765m geforce-gtx-770 geforce-gtx-770m "
     "geforce-gtx-780m geforce-gtx-860m-sm-30 geforce-gtx-870m geforce-gtx-880m nvidia-nvs-510 quadro-410 "
     "quadro-k1100m quadro-k2000 quadro-k2000d quadro-k2100m quadro-k2200m quadro-k3100m quadro-k4000 "
     "quadro-k4100m quadro-k420 quadro-k4200 quadro-k4200m quadro-k5000 quadro-k500m quadro-k5100m "
     "quadro-k5200m quadro-k600 quadro-k6000m tesla-k10"},
    {"sm_35", 65536, 0,
     "geforce-920m geforce-gt-640-gddr5 geforce-gt-705 geforce-gt-720 geforce-gt-730 geforce-gtx-780 "
     "geforce-gtx-780-ti geforce-gtx-titan geforce-gtx-titan-black geforce-gtx-titan-z quadro-k510m "
     "quadro-k5200 quadro-k6000 quadro-k610m tesla-k20 tesla-k40"},
    {"sm_37", 65536, 0, "tesla-k80"},
    {"sm_50", 65536, 0,
     "geforce-830m geforce-840m geforce-930m geforce-940m geforce-gtx-750 geforce-gtx-750-ti geforce-gtx-850m "
     "geforce-gtx-860m-sm-50 geforce-gtx-950m geforce-gtx-960m nvidia-nvs-810 quadro-k1200 quadro-k2200 "
     "quadro-k620 quadro-k620m quadro-m1000m quadro-m1200 quadro-m2000m quadro-m3000m quadro-m4000m "
     "quadro-m5000m quadro-m500m quadro-m520 quadro-m600m"},
    {"sm_52", 65536, 0,
     "geforce-910m geforce-gtx-950 geforce-gtx-960 geforce-gtx-965m geforce-gtx-970 geforce-gtx-970m "
     "geforce-gtx-980 geforce-gtx-980-ti geforce-gtx-980m geforce-gtx-titan-x quadro-m2000 quadro-m2200 "
     "quadro-m4000 quadro-m5000 quadro-m5500m quadro-m6000 quadro-m6000-24gb quadro-m620 tesla-m40 tesla-m60"},
    {"sm_53", 32768, 0, "jetson-nano jetson-tx1 tegra-x1"},
    {"sm_60", 65536, 0, "quadro-gp100 tesla-p100"},
    {"sm_61", 65536, 0,
     "geforce-gtx-1050 geforce-gtx-1060 geforce-gtx-1070 geforce-gtx-1070-ti geforce-gtx-1080 "
     "geforce-gtx-1080-ti nvidia-titan-x nvidia-titan-xp p520 p620 quadro-p1000 quadro-p2000 quadro-p2200 "
     "quadro-p3000 quadro-p3200 quadro-p400 quadro-p4000 quadro-p4200 quadro-p500 quadro-p5000 quadro-p5200 "
     "quadro-p600 quadro-p6000 quadro-p620 tesla-p4 tesla-p40"},
    {"sm_62", 32768, 0, "jetson-tx2"},
    {"sm_70", 65536, 0, "nvidia-titan-v nvidia-v100 quadro-gv100"},
    {"sm_75", 65536, 0,
     "geforce-rtx-2060 geforce-rtx-2070 geforce-rtx-2080 geforce-rtx-2080-ti nvidia-t4 nvidia-titan-rtx "
     "quadro-rtx-4000 quadro-rtx-5000 quadro-rtx-6000 quadro-rtx-8000 rtx-3000 rtx-4000 rtx-5000 t1000 t2000"},
    {"sm_80", 65536, 0, "nvidia-a30"},
    {"sm_80", 65536, 40, "nvidia-a100"},
    {"sm_86", 65536, 0,
     "geforce-rtx-3060 geforce-rtx-3070 geforce-rtx-3070-ti geforce-rtx-3080 geforce-rtx-3080-ti "
     "geforce-rtx-3090 geforce-rtx-3090-ti nvidia-a10 nvidia-a10g nvidia-a16 nvidia-a2 nvidia-a40 rtx-a6000"},
    {"sm_89", 65536, 72, "geforce-rtx-4090"},
    {"sm_90a", 65536, 50, "nvidia-h100"},
    {"sm_100a", 65536, 50, "nvidia-b100"},
    {"sm_120", 65536, 32, "geforce-rtx-5060-ti"},
};

struct DeviceRow {
  std::string_view tag, text, host;
};
// Boards with a GPU and a CPU of their own.
constexpr std::string_view kSm72 =
    "cuda -arch=sm_72 -max_shared_memory_per_block=49152 -max_threads_per_block=1024 -registers_per_block=65536";
constexpr std::string_view kSm87 =
    "cuda -arch=sm_87 -max_shared_memory_per_block=49152 -max_threads_per_block=1024 -registers_per_block=65536";
constexpr std::string_view kAppleM1 = "llvm -mcpu=apple-m1 -mtriple=arm64-apple-macos";
constexpr DeviceRow kDevices[] = {
    {"nvidia/jetson-agx-xavier", kSm72, "llvm -mcpu=carmel -mtriple=aarch64-linux-gnu -num-cores=8"},
    {"nvidia/jetson-orin-nano", kSm87, "llvm -mcpu=carmel -mtriple=aarch64-linux-gnu -num-cores=6"},
    {"nvidia/jetson-agx-orin-32gb", kSm87, "llvm -mcpu=cortex-a78 -mtriple=aarch64-linux-gnu -num-cores=8"},
    {"nvidia/jetson-agx-orin-64gb", kSm87, "llvm -mcpu=cortex-a78 -mtriple=aarch64-linux-gnu -num-cores=12"},
    {"apple/m1-gpu", "metal -thread_warp_size=32 -max_threads_per_block=1024", kAppleM1},
    {"apple/m1-gpu-restricted", "metal -thread_warp_size=32 -max_threads_per_block=256", kAppleM1},
    {"apple/m2-gpu", "metal -thread_warp_size=32 -max_threads_per_block=1024",
     "llvm -mcpu=apple-m2 -mtriple=arm64-apple-macos"},
    {"arm/rasp3b", "llvm -device=arm_cpu -model=bcm2837 -mtriple=armv7l-linux-gnueabihf -mattr=+neon", ""},
    {"arm/rasp4b", "llvm -device=arm_cpu -model=bcm2711 -mcpu=cortex-a72 -mtriple=armv8l-linux-gnueabihf -mattr=+neon",
     ""},
    {"arm/rasp4b64", "llvm -device=arm_cpu -model=bcm2711 -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu -mattr=+neon",
     ""},
    {"arm/rk3399", "llvm -device=arm_cpu -model=rk3399 -mtriple=aarch64-linux-gnu -mattr=+neon", ""},
    {"arm/pixel2", "llvm -device=arm_cpu -model=snapdragon835 -mtriple=arm64-linux-android -mattr=+neon", ""},
    {"arm/mate10", "llvm -device=arm_cpu -model=kirin970 -mtriple=arm64-linux-android -mattr=+neon", ""},
    {"arm/pynq", "llvm -device=arm_cpu -model=pynq -mtriple=armv7a-linux-eabi -mattr=+neon", ""},
    {"arm/ultra96", "llvm -device=arm_cpu -model=ultra96 -mtriple=aarch64-linux-gnu -mattr=+neon", ""},
    {"riscv/sifive-e31",
     "llvm -device=riscv_cpu -model=sifive-e31 -mcpu=sifive-e31 -mtriple=riscv32-unknown-linux-gnu -mabi=ilp32", ""},
    {"riscv/sifive-e76",
     "llvm -device=riscv_cpu -model=sifive-e76 -mcpu=sifive-e76 -mtriple=riscv32-unknown-linux-gnu -mabi=ilp32", ""},
    {"riscv/sifive-u54",
     "llvm -device=riscv_cpu -model=sifive-u54 -mcpu=sifive-u54 -mtriple=riscv64-unknown-linux-gnu -mabi=lp64d", ""},
    {"riscv/sifive-u74",
     "llvm -device=riscv_cpu -model=sifive-u74 -mcpu=sifive-u74 -mtriple=riscv64-unknown-linux-gnu -mabi=lp64d", ""},
};

std::string CudaText(std::string_view arch, int registers_per_block, int l2_mib) {
  std::string text = fmt::format("cuda -arch={} -max_shared_memory_per_block=49152 -max_threads_per_block=1024", arch);
  text += fmt::format(" -registers_per_block={}", registers_per_block);
  return l2_mib == 0 ? text : text + fmt::format(" -l2_cache_size_bytes={}", int64_t{l2_mib} << 20);
}

TargetTags MakeTags() {
  TargetTags tags;
  for (const CudaRow& row : kCuda) {
    for (std::string_view names = row.names; !names.empty();) {
      const size_t end = std::min(names.find(' '), names.size());
      tags.emplace("nvidia/" + std::string(names.substr(0, end)),
                   TaggedTarget{CudaText(row.arch, row.registers_per_block, row.l2_mib), ""});
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  }
  for (const DeviceRow& row : kDevices)
    tags.emplace(std::string(row.tag), TaggedTarget{std::string(row.text), std::string(row.host)});
  return tags;
}

}  // namespace

const TargetTags& DeviceTags() {
  static const auto* tags = new TargetTags(MakeTags());
  return *tags;
}

}  // namespace lathe
