// RETURN_IF_ERROR(expr);  ASSIGN_OR_RETURN(declaration, expr);  pass a failure up unchanged.
#pragma once

#include "support/status.h"

#define LATHE_CONCAT_INNER(a, b) a##b
#define LATHE_CONCAT(a, b) LATHE_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expr)                    \
  do {                                           \
    ::lathe::Status lathe_status = (expr);       \
    if (!lathe_status.ok()) return lathe_status; \
  } while (false)

#define ASSIGN_OR_RETURN(lhs, expr) ASSIGN_OR_RETURN_IMPL(LATHE_CONCAT(lathe_or_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                          \
  if (!tmp.ok()) return tmp.status();         \
  lhs = *std::move(tmp)
