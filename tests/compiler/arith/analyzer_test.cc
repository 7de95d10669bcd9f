#include <gtest/gtest.h>

#include "compiler/arith/analyzer.h"
namespace lathe { namespace { TEST(A, B) { Var i("i"); EXPECT_TRUE(Analyzer().CanProveEqual(FloorDiv(i,4)*4+FloorMod(i,4), i)); } } }
