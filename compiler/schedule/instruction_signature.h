// How each primitive is called from Python: the one description from which traces are written and read as text and the
// binding makes its methods.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/attr.h"

namespace lathe {

struct InstructionKind;

// How an argument is kept in an instruction.
enum class Keep : uint8_t {
  kBlock,  // One input: a block. Python may name it.
  kBlockOrLoop,
  kLoop,      // One input: a loop.
  kInput,     // One input of any kind.
  kSide,      // One input: 0 (read) or 1 (written). Python: "read", "write".
  kIndexMap,  // One input: an index map. Python may give a function.
  kRanges,    // One input: an index map to begin and end of each dimension. Python may give a function of ranges.
  kItems,     // As kInput; the numbers in a list may be sampled ones.
  kMapAttr,   // An attribute: an index map or None. Python may give a function or a value.
  kInputs,    // A list: the remaining inputs.
  kStar,      // Positional arguments: all inputs.
  kAttr,
  kFlag,       // An attribute, 0 or 1.
  kReadIndex,  // An attribute: the number of a buffer that the block reads. Python may give the buffer or its name.
  kWriteIndex,
  kBuffer,  // Two attributes: the number of a buffer and 0 (read) or 1 (written). Python: ("read", 0), a buffer, a
            // name.
  kDecision,
};

struct Argument {
  std::string_view name;
  Keep keep;
  std::string_view fallback = "";   // Python text of the default; empty: required.
  bool is_bare = false;             // Traces write it without its name.
  std::string_view in_traces = "";  // What traces call it; empty: as Python does. Calls may, too.
};
// A row of the table. Its kind names the row of instruction_kinds.cc.
struct Signature {
  std::string_view kind;
  std::string_view doc;  // One sentence for Python's help.
  bool returns_list;
  std::vector<Argument> arguments;
};

// The attribute that is an index map or None; -1: none is.
int MapAttrOf(std::string_view kind);

// What an attribute is where the call leaves it out.
Attr DefaultOf(const Argument& argument);

std::span<const Signature> Signatures();
const Signature* FindSignature(std::string_view kind);        // nullptr if there is none.
const Signature* FindPythonSignature(std::string_view name);  // By what Python calls it.

// Instructions that only look: they may go when nobody uses what they return.
bool ChangesNothing(const InstructionKind& kind);

// What a kind is called in Python: GetBlock is get_block, RFactor is rfactor, ReIndex is reindex.
std::string SnakeCase(std::string_view name);

}  // namespace lathe
