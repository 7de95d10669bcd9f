#include "tuner/build/kernel_header.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "compiler/artifact/kernel_signature.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// A name in C: letters, digits and _, no keyword of C or C++, and not one of `taken`.
std::string Identifier(const std::string& name, std::set<std::string>& taken) {
  static constexpr std::array kKeywords = {
      "asm",      "auto",     "bool",      "break",   "case",    "catch",    "char",     "class",   "const",
      "context",  "continue", "delete",    "default", "do",      "double",   "else",     "enum",    "export",
      "extern",   "false",    "float",     "for",     "friend",  "goto",     "if",       "inline",  "int",
      "long",     "mutable",  "namespace", "new",     "not",     "operator", "or",       "private", "public",
      "register", "return",   "restrict",  "short",   "signed",  "sizeof",   "static",   "struct",  "switch",
      "this",     "throw",    "true",      "try",     "typedef", "union",    "unsigned", "using",   "virtual",
      "void",     "volatile", "while",     "xor",     "and",     "main"};
  std::string text;
  for (const char c : name) text += (std::isalnum(static_cast<unsigned char>(c)) != 0) ? c : '_';
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) text = "_" + text;
  while (std::ranges::find(kKeywords, text) != kKeywords.end() || !taken.insert(text).second) text += "_";
  return text;
}

// Half precision, bfloat16 and bool have no type in C11 that all compilers share: their bits.
std::string CTypeOf(const DataType& type) {
  const int bits = type.bits;
  if (type.code == DataType::Code::kFloat && bits == 64) return "double";
  if (type.code == DataType::Code::kFloat && bits == 32) return "float";
  if (type.code == DataType::Code::kInt) return fmt::format("int{}_t", bits);
  return fmt::format("uint{}_t", std::max(bits, 8));
}

struct CParam {
  std::string name, type;
  std::string in_words;  // "A: float32 [128, 128]"
  bool is_buffer = false, is_written = false, is_integer = false;
};

StatusOr<std::string> ShapeText(const PrimFunc& func, const BufferNode& buffer) {
  std::vector<int64_t> extents;
  for (const Expr& extent : buffer.shape) {
    const int64_t* number = AsIntConst(extent);
    if (number == nullptr)
      return InvalidArgument(
          fmt::format("header of @{}: parameter \"{}\" has an extent that is no number; give it one (`specialize`)",
                      func.name, buffer.name));
    extents.push_back(*number);
  }
  if (!buffer.strides.empty() || !IsConstInt(buffer.elem_offset, 0))
    return InvalidArgument(fmt::format(
        "header of @{}: parameter \"{}\" has strides or an offset; a compact one is required", func.name, buffer.name));
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

StatusOr<CParam> ParamOf(const PrimFunc& func, const SignatureParam& param, std::set<std::string>& taken) {
  CParam result{.name = Identifier(param.name, taken)};
  if (param.address)
    return InvalidArgument(fmt::format(
        "header of @{}: parameter \"{}\" is an address without a shape; declare a buffer", func.name, param.name));
  const DataType type = param.buffer ? (*param.buffer)->dtype : param.scalar->dtype();
  result.type = CTypeOf(type);
  result.is_integer = !type.is_float();
  result.is_buffer = param.buffer.has_value();
  result.is_written = param.is_written;
  result.in_words = fmt::format("{}: {}", result.name, type.ToString());
  if (param.buffer) {
    ASSIGN_OR_RETURN(const std::string shape, ShapeText(func, **param.buffer));
    result.in_words += " " + shape + (param.is_written ? ", written" : "");
  }
  return result;
}

std::string Declaration(const CParam& param) {
  if (!param.is_buffer) return param.type + " " + param.name;
  return fmt::format("{}{}* {}", param.is_written ? "" : "const ", param.type, param.name);
}

// The inline function's body: pointers and scalars in the ABI's order.
std::string BodyOf(const std::vector<CParam>& params, const std::string& function, const std::string& symbol) {
  std::string body, alignment;
  int buffers = 0, scalars = 0;
  for (const CParam& param : params) {
    if (param.is_buffer) {
      body += fmt::format("  buffers[{}] = (void*){};\n", buffers++, param.name);
      alignment += fmt::format("{}(uintptr_t){}", alignment.empty() ? "" : " | ", param.name);
    } else if (param.is_integer) {
      body += fmt::format("  scalars[{}] = (int64_t){};\n", scalars++, param.name);
    } else {
      body += fmt::format("  scalars[{0}] = 0;\n  memcpy(&scalars[{0}], &{1}, sizeof({1}));\n", scalars++, param.name);
    }
  }
  const std::string check = alignment.empty() ? ""
                                              : fmt::format(R"(  if ((({}) % LATHE_BUFFER_ALIGNMENT) != 0) {{
    context->fail(context, "{}: a pointer is not aligned to 64 bytes");
    return LATHE_KERNEL_ASSERT;
  }}
)",
                                                            alignment, function);
  return fmt::format("  void* buffers[{}];\n  int64_t scalars[{}];\n{}{}{}  return {}(context, buffers, scalars);\n",
                     std::max(buffers, 1), std::max(scalars, 1), check, body, scalars == 0 ? "  scalars[0] = 0;\n" : "",
                     symbol);
}

StatusOr<std::string> FunctionOf(const PrimFunc& func, size_t position, std::set<std::string>& functions) {
  ASSIGN_OR_RETURN(const KernelSignature signature, MakeSignature(func, position));
  if (!signature.symbols.empty())
    return InvalidArgument(
        fmt::format("header of @{}: \"{}\" is an extent that is no number; give it one (`specialize`)", func.name,
                    signature.symbols[0].name()));
  const std::string name = Identifier(func.name, functions);
  std::set<std::string> taken = {name, "buffers", "scalars"};
  std::vector<CParam> params;
  std::vector<std::string> words, declarations = {"const LatheContext* context"};
  for (const SignatureParam& param : signature.params) {
    ASSIGN_OR_RETURN(CParam one, ParamOf(func, param, taken));
    words.push_back(one.in_words);
    declarations.push_back(Declaration(one));
    params.push_back(std::move(one));
  }
  return fmt::format(R"(
int32_t {0}(const LatheContext* context, void* const* buffers, const int64_t* scalars);
/* {1} */
static inline int32_t {2}({3}) {{
{4}}}
)",
                     signature.symbol, fmt::join(words, "; "), name, fmt::join(declarations, ", "),
                     BodyOf(params, name, signature.symbol));
}

}  // namespace

StatusOr<std::string> KernelHeader(std::span<const PrimFunc> kernels, const std::string& target,
                                   const std::string& name) {
  std::set<std::string> functions, guards;
  std::string body;
  for (size_t i = 0; i < kernels.size(); ++i) {
    ASSIGN_OR_RETURN(const std::string function, FunctionOf(kernels[i], i, functions));
    body += function;
  }
  return fmt::format(
      R"(/* Made by `lathe compile`: kernels for "{0}". Link the library beside this file, and Lathe::runtime
 * for a context (lathe/runtime.h, lathe_threads_create).
 *
 * Tensors are compact and row-major, aligned to 64 bytes; what is written overlaps nothing else. Half precision, bfloat16 and
 * bool are given as their bits. A function returns 0, or a LatheKernelError after the context was told why. */
#ifndef LATHE_KERNELS_{1}_H_
#define LATHE_KERNELS_{1}_H_

#include <lathe/kernel_abi.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {{
#endif
{2}
#ifdef __cplusplus
}}
#endif

#endif
)",
      target, Identifier(name, guards), body);
}

}  // namespace lathe
