// AMX on x86 processors that have none: while one of these lives, each of its instructions that the processor refuses
// (SIGILL) is carried out by the signal's handler, as Intel's manual says it. For one thread.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <ucontext.h>
#endif

namespace lathe {

#if defined(__x86_64__)
namespace amx_emulator {

struct Tile {
  int rows = 0, row_bytes = 0;
  uint8_t bytes[16][64] = {};
};
struct Machine {
  bool is_configured = false;
  int num_products = 0;
  Tile tiles[8];
};
inline Machine machine;
inline struct sigaction before;

// By number in an instruction.
inline constexpr int kRegisters[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                     REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

struct Decoded {
  enum Prefix { kNone, k66, kF3, kF2 } prefix = kNone;
  uint8_t opcode = 0, mod = 0, reg = 0, rm = 0, vvvv = 0;
  uint8_t* address = nullptr;  // Of a memory operand without its index ...
  int64_t index = 0;           // ... which is a stride in bytes.
  int length = 0;
};

// VEX of three bytes in map 0F38: what all instructions of AMX are.
inline bool Decode(const uint8_t* code, const greg_t* registers, Decoded& it) {
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2) return false;
  const int b_bit = (code[1] & 0x20) != 0 ? 0 : 8, x_bit = (code[1] & 0x40) != 0 ? 0 : 8;
  it.prefix = static_cast<Decoded::Prefix>(code[2] & 3);
  it.vvvv = static_cast<uint8_t>(~(code[2] >> 3) & 15);
  it.opcode = code[3];
  it.mod = code[4] >> 6;
  it.reg = (code[4] >> 3) & 7;
  it.rm = code[4] & 7;
  it.length = 5;
  if (it.mod == 3) return true;
  int base = it.rm | b_bit;
  if (it.rm == 4) {
    const uint8_t sib = code[it.length++];
    const int index = ((sib >> 3) & 7) | x_bit;
    if (index != 4) it.index = registers[kRegisters[index]] << (sib >> 6);
    base = (sib & 7) | b_bit;
  }
  int64_t offset = 0;
  if (it.mod == 1) {
    offset = static_cast<int8_t>(code[it.length]);
    it.length += 1;
  } else if (it.mod == 2 || (it.mod == 0 && (base & 7) == 5)) {
    int32_t wide;
    std::memcpy(&wide, code + it.length, sizeof(wide));
    offset = wide;
    it.length += 4;
  }
  const bool is_relative = it.mod == 0 && it.rm == 5;
  const int64_t from = is_relative ? reinterpret_cast<int64_t>(code) + it.length : registers[kRegisters[base]];
  it.address = reinterpret_cast<uint8_t*>(from + offset);
  return true;
}

inline void Configure(const uint8_t* config) {
  machine.is_configured = config[0] == 1;
  for (int t = 0; t < 8; ++t) machine.tiles[t] = {config[48 + t], config[16 + 2 * t] | config[17 + 2 * t] << 8, {}};
}

inline void Move(Tile& tile, const Decoded& it, bool is_store) {
  for (int r = 0; r < tile.rows; ++r) {
    uint8_t* row = it.address + r * it.index;
    const auto size = static_cast<size_t>(tile.row_bytes);
    is_store ? std::memcpy(row, tile.bytes[r], size) : std::memcpy(tile.bytes[r], row, size);
  }
}

template <typename T>
T At(const Tile& tile, int row, int i) {
  T value;
  std::memcpy(&value, tile.bytes[row] + i * static_cast<int>(sizeof(T)), sizeof(T));
  return value;
}
inline float Wide(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Sum, factor and product types; parts of 32 bits.
template <typename Sum, typename A, typename B, int kParts>
void Multiply(Tile& c, const Tile& a, const Tile& b) {
  for (int m = 0; m < c.rows; ++m) {
    for (int k = 0; k < a.row_bytes / 4; ++k) {
      for (int n = 0; n < c.row_bytes / 4; ++n) {
        Sum sum = At<Sum>(c, m, n);
        for (int p = 0; p < kParts; ++p) {
          const A x = At<A>(a, m, k * kParts + p);
          const B y = At<B>(b, k, n * kParts + p);
          if constexpr (kParts == 2)
            sum += Wide(x) * Wide(y);
          else
            sum += Sum{x} * Sum{y};
        }
        std::memcpy(c.bytes[m] + 4 * n, &sum, sizeof(sum));
      }
    }
  }
  ++machine.num_products;
}

inline bool MultiplyAs(const Decoded& it) {
  Tile& c = machine.tiles[it.reg];
  const Tile &a = machine.tiles[it.rm], &b = machine.tiles[it.vvvv & 7];
  if (it.opcode == 0x5c && it.prefix == Decoded::kF3) return Multiply<float, uint16_t, uint16_t, 2>(c, a, b), true;
  if (it.opcode != 0x5e) return false;
  switch (it.prefix) {
    case Decoded::kF2:
      return Multiply<int32_t, int8_t, int8_t, 4>(c, a, b), true;
    case Decoded::kF3:
      return Multiply<int32_t, int8_t, uint8_t, 4>(c, a, b), true;
    case Decoded::k66:
      return Multiply<int32_t, uint8_t, int8_t, 4>(c, a, b), true;
    case Decoded::kNone:
      return Multiply<int32_t, uint8_t, uint8_t, 4>(c, a, b), true;
  }
  return false;
}

// Whether it is one of AMX's; what comes before a configuration is none that a processor would carry out.
inline bool CarryOut(const Decoded& it) {
  if (it.opcode == 0x49 && it.prefix == Decoded::kNone && it.mod != 3) return Configure(it.address), true;
  if (!machine.is_configured) return false;
  if (it.opcode == 0x49 && it.prefix == Decoded::kNone) return machine = {.num_products = machine.num_products}, true;
  if (it.opcode == 0x49 && it.prefix == Decoded::kF2)
    return std::memset(machine.tiles[it.reg].bytes, 0, sizeof(machine.tiles[it.reg].bytes)), true;
  if (it.opcode == 0x4b && it.prefix == Decoded::kF2) return Move(machine.tiles[it.reg], it, false), true;
  if (it.opcode == 0x4b && it.prefix == Decoded::kF3) return Move(machine.tiles[it.reg], it, true), true;
  return MultiplyAs(it);
}

inline void Handle(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  Decoded it;
  if (Decode(reinterpret_cast<const uint8_t*>(registers[REG_RIP]), registers, it) && CarryOut(it)) {
    registers[REG_RIP] += it.length;
    return;
  }
  sigaction(SIGILL, &before, nullptr);  // Not ours: it is refused again.
}

}  // namespace amx_emulator

class AmxEmulator {
 public:
  AmxEmulator() {
    amx_emulator::machine = {};
    struct sigaction ours = {};
    ours.sa_sigaction = amx_emulator::Handle;
    ours.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &ours, &amx_emulator::before);
  }
  ~AmxEmulator() { sigaction(SIGILL, &amx_emulator::before, nullptr); }
  AmxEmulator(const AmxEmulator&) = delete;
  AmxEmulator& operator=(const AmxEmulator&) = delete;

  // Instructions of products carried out; whether tiles are configured.
  static int num_products() { return amx_emulator::machine.num_products; }
  static bool is_configured() { return amx_emulator::machine.is_configured; }
};
#else
class AmxEmulator {  // Nobody runs code of AMX here.
 public:
  static int num_products() { return 0; }
  static bool is_configured() { return false; }
};
#endif

}  // namespace lathe
