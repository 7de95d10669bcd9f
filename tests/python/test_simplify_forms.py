"""What Analyzer.rewrite_simplify and canonical_simplify make of expressions: forms, compared by structure.

Each table is for some bounds of x, y and z and some conditions that hold; a line says what an expression becomes."""
import contextlib

import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import tir as T

VARS = {name: tir.Var(name, "int32") for name in "xyz"}
NAMES = {**VARS, "b": tir.Var("b", "bool"), "f": tir.Var("f", "float32"), "g": tir.Var("g", "float32"),
         "u": tir.Var("u", "uint32"), "v": tir.Var("v", "uint32"), "h": tir.Var("h", "int8"),
         "tir": tir, "X": tir.Var("X", "int64"), "Y": tir.Var("Y", "int64"), "ramp": tir.Ramp,
         "broadcast": lambda value, lanes: tir.Broadcast(tir.const(value, "int32") if isinstance(value, int) else value, lanes),
         **{name: getattr(tir, name) for name in
            ("floordiv", "floormod", "truncdiv", "truncmod", "min", "max", "Select", "And", "Or", "Not", "Cast", "all", "any", "const",
             "if_then_else", "likely", "IntImm")}}
NAMES["LT"] = lambda a, b: tir.LT(tir.const(a, b.dtype), b)  # Python would turn 0 < x round.
NAMES["LE"] = lambda a, b: tir.LE(tir.const(a, b.dtype), b)
UP_TO_1000 = {name: 1001 for name in "xyz"}
SMALL = {"x": 16, "y": 8, "z": 4}

REWRITTEN = [
    ("vector", {}, [], """
ramp(x,2,4)+ramp(y,3,4)  ->  ramp((x + y), 5, 4)
broadcast(x,4)+broadcast(y,4)  ->  broadcast((x + y), 4)
broadcast(x,4)-ramp(y,3,4)  ->  ramp((x - y), -3, 4)
ramp(x,4,4)*broadcast(3,4)  ->  ramp((x * 3), 12, 4)
floordiv(ramp(x*16,1,8),broadcast(8,8))  ->  broadcast((x * 2), 8)
floormod(ramp(x,8,4),broadcast(4,4))  ->  broadcast((x % 4), 4)
floormod(ramp(x*16+6,1,4),broadcast(8,4))  ->  (ramp(6, 1, 4) % broadcast(8, 4))
max(broadcast(x,4),broadcast(y,4))  ->  broadcast(max(x, y), 4)
broadcast(x,4)<broadcast(y,4)  ->  broadcast((x < y), 4)
broadcast(x,4)>broadcast(y,4)  ->  broadcast((y < x), 4)
And(broadcast(x>0,4),broadcast(y>1,4))  ->  broadcast(And(LT(0, x), LT(1, y)), 4)
ramp(x,y-y,4)  ->  ramp(x, 0, 4)
truncmod(broadcast(x,4),broadcast(y,4))  ->  broadcast(truncmod(x, y), 4)
floordiv(ramp(floormod(x,4)*8,1,8),broadcast(8,8))  ->  broadcast((x % 4), 8)
floordiv(ramp(x*4,1,4),broadcast(64,4))  ->  broadcast((x // 16), 4)
floormod(ramp(x*8+1,2,4),broadcast(16,4))  ->  ramp((((x % 2) * 8) + 1), 2, 4)
"""),
    ("vector", UP_TO_1000, [], """
truncdiv(ramp(x,8,4),broadcast(4,4))  ->  ramp(truncdiv(x, 4), 2, 4)
truncmod(ramp(x*8+1,1,4),broadcast(8,4))  ->  ramp(1, 1, 4)
"""),
    ("integers that wrap", {}, [], """
u-u  ->  const(0, 'uint32')
(u+v)-v  ->  u
u-(v+u)  ->  const(0, 'uint32') - v
h+h-h  ->  h
u*const(2, 'uint32')-u  ->  u * const(2, 'uint32') - u
"""),
    ("casts of lanes and of floats", {}, [], """
Cast('float32x4',broadcast(x,4))  ->  tir.Broadcast(Cast('float32', x), 4)
Cast('int64x4',ramp(x,2,4))  ->  ramp(Cast('int64', x), const(2, 'int64'), 4)
Cast('float32x4',ramp(x,2,4))  ->  Cast('float32x4', ramp(x, 2, 4))
Cast('int32',const(3.7, 'float32'))  ->  3
Cast('int32',const(-3.7, 'float64'))  ->  -3
Cast('int8',const(300.5, 'float32'))  ->  Cast('int8', const(300.5, 'float32'))
Cast('float16',const(1.5, 'float32'))  ->  const(1.5, 'float16')
"""),
    ("select", {}, [], """
Select(x<0,y,0)+Select(x<0,1,z)  ->  Select((x < 0), (y + 1), z)
Select(x<0,y,z)-z  ->  Select((x < 0), (y - z), 0)
Select(x*3+1!=0,y,z)  ->  y
Select(x>=10,max(x,10),z)  ->  Select(LE(10, x), x, z)
Select(x<y,x,x)  ->  x
"""),
    ("select", UP_TO_1000, [], """
Select(x>=0,y,z)  ->  y
"""),
    ("add", {}, [], """
x+(y-x)  ->  y
(x-y)+(z-x)  ->  z - y
max(x,y-10)+10  ->  max((x + 10), y)
max(x,y*2-z)+z  ->  max((x + z), (y * 2))
max(x,y)+min(y,x)  ->  x + y
y*x+x*10  ->  ((y + 10) * x)
(2*z)+min(x,y-(2*z))  ->  min((x + (z * 2)), y)
x+x*y  ->  ((y + 1) * x)
x+x+x  ->  x * 3
x*y+z*x  ->  ((y + z) * x)
x*y*10+x*y*20  ->  ((x * y) * 30)
(10-y)+x  ->  ((x - y) + 10)
(x+3)+y  ->  ((x + y) + 3)
1+x+2+y+3  ->  (((1 + x) + y) + 5)
8*floordiv(x,8)+floormod(x,8)  ->  x
truncdiv(x,8)*8+truncmod(x,8)  ->  x
floormod(x+1,2)+floormod(x,2)  ->  1
floormod(y,8)+x*8  ->  ((x * 8) + (y % 8))
min(x+3,y)+-3  ->  min(x, (y + -3))
floordiv(x,4)*4+floormod(x,4)+y  ->  x + y
"""),
    ("sub", {}, [], """
(x+y)-y  ->  x
x-(y+x)  ->  0 - y
min(x,y)-x  ->  min(0, (y - x))
max(x,y)-y  ->  max((x - y), 0)
x-min(x,y)  ->  max(0, (x - y))
x*y-10*x  ->  ((y + -10) * x)
x-y*x  ->  ((1 - y) * x)
(x+10)-20  ->  x + -10
(x+y)-(x+z)  ->  y - z
min(x+y,z)-x  ->  min(y, (z - x))
max(x+y,z)-x  ->  max(y, (z - x))
x-min(z,y+x)  ->  max((x - z), (0 - y))
min(x,y)-min(y,x)  ->  0
min(x+10,y+1)-min(x,y-9)  ->  10
x-floordiv(x,3)*3  ->  x % 3
floordiv(x+y,5)*5-x  ->  (y - ((x + y) % 5))
x*4-floordiv(x,3)*12  ->  ((x % 3) * 4)
floordiv(x+y,3)*6-x*2  ->  ((y - ((x + y) % 3)) * 2)
floordiv(y+7,3)-floordiv(y,3)  ->  (((y % 3) + 7) // 3)
floordiv(x+3,2)-floordiv(x+2,2)  ->  x % 2
x-truncdiv(x,3)*3  ->  truncmod(x, 3)
x-truncdiv(x+y,5)*5  ->  (truncmod((x + y), 5) - y)
x-(y+10)  ->  ((x - y) + -10)
x-y*-3  ->  (x + (y * 3))
3*x-2*x  ->  x
x-y+y-z  ->  x - z
(x*4+y*2)-(y*2+x)  ->  3 * x
z-(x-y)-1  ->  (((z + y) - x) + -1)
min(x,8)-8  ->  min((x + -8), 0)
"""),
    ("sub", UP_TO_1000, [], """
truncdiv(x+7,3)-truncdiv(x,3)  ->  truncdiv((truncmod(x, 3) + 7), 3)
"""),
    ("mul", {}, [], """
(x+2)*3  ->  ((x * 3) + 6)
max(x,y)*min(x,y)  ->  x * y
2*x  ->  x * 2
-1*x  ->  x * -1
(5-x)*-3  ->  ((x * 3) + -15)
"""),
    ("truncdiv", {}, [], """
truncdiv(x,x)  ->  1
truncdiv(x*4,8)  ->  truncdiv(x, 2)
truncmod(x,-5)  ->  truncmod(x, 5)
"""),
    ("truncdiv", UP_TO_1000, [], """
truncdiv(truncdiv(x,4),2)  ->  truncdiv(x, 8)
truncdiv(x*4,8)  ->  truncdiv(x, 2)
truncdiv(max(x*6,y),2)  ->  max((x * 3), truncdiv(y, 2))
truncdiv(max(y,x*6),2)  ->  max(truncdiv(y, 2), (x * 3))
truncdiv(x*6+(y+3)-y,2)  ->  ((x * 3) + 1)
truncdiv(x+y,x)  ->  (truncdiv(y, x) + 1)
truncdiv(y+(z+x),x)  ->  (truncdiv((y + z), x) + 1)
truncdiv(x*z+y,z)  ->  (x + truncdiv(y, z))
truncmod(x*10,2)  ->  0
truncmod(x+y*10,2)  ->  truncmod(x, 2)
truncdiv(x,8)*8+truncmod(x,8)  ->  x
truncdiv(x*12+y*4+z,4)  ->  ((x * 3) + (y + truncdiv(z, 4)))
"""),
    ("floordiv", {}, [], """
floordiv(floordiv(x,4),2)  ->  x // 8
floordiv(x*4,8)  ->  x // 2
floordiv(x*4+y,2)  ->  ((x * 2) + (y // 2))
floordiv(y+x*4,2)  ->  ((x * 2) + (y // 2))
floordiv(x*6-y+z,2)  ->  ((x * 3) + ((z - y) // 2))
floordiv(x+4,2)  ->  ((x // 2) + 2)
floordiv(x*4,x)  ->  4
floordiv(x*12+5,4)  ->  ((x * 3) + 1)
floordiv(x*-12,4)  ->  x * -3
floordiv(x*3,x*2)  ->  1
floordiv(x*360-8,16)  ->  (((x * 360) + -8) // 16)
floordiv(x-y*4,4)  ->  ((y * -1) + (x // 4))
floordiv(x*2+1,4)  ->  x // 2
floordiv(floordiv(x*16+y,4),4)  ->  (x + (y // 16))
"""),
    ("floordiv", SMALL, [], """
floordiv(x*16+y*2+z,16)  ->  (x + (((y * 2) + z) // 16))
floordiv(x*8+y,4)  ->  ((x * 2) + (y // 4))
floordiv(y*4+z,32)  ->  0
floordiv(x+16,16)  ->  ((x // 16) + 1)
floordiv(x*2+1,4)  ->  x // 2
floordiv(x//4*4+z,4)  ->  x // 4
floordiv(x*56+y*7+6,28)  ->  ((x * 2) + (y // 4))
"""),
    ("floordiv", UP_TO_1000, [], """
floordiv(x+y,x)  ->  ((y // x) + 1)
floordiv((y+x)+z,x)  ->  (((y + z) // x) + 1)
floordiv(x*y,y)  ->  x
floordiv(z*x+y,z)  ->  (x + (y // z))
floordiv(x*z*2+y,z*2)  ->  (x + (y // (z * 2)))
"""),
    ("floormod", {}, [], """
floormod(x*10,2)  ->  0
floormod(x+10,2)  ->  x % 2
floormod(x*-10,2)  ->  0
floormod(x+y*-10,2)  ->  x % 2
floormod(x-3,5)  ->  ((x + 2) % 5)
floormod(x*4,x*3)  ->  x
floormod(floordiv(x,4)*4+1,8)  ->  ((((x // 4) % 2) * 4) + 1)
floormod(x+floormod(-x,4),4)  ->  0
floormod(-x,4)  ->  ((x * 3) % 4)
floormod(x+y-8,8)  ->  ((x + y) % 8)
"""),
    ("floormod", SMALL, [], """
floormod(x*8+y,8)  ->  y
floormod(x*4+z,4)  ->  z
floormod(x,16)  ->  x
floormod(x*2+1,4)  ->  (((x % 2) * 2) + 1)
floormod(x+y+z,32)  ->  ((x + y) + z)
floormod(y*16+x,8)  ->  x % 8
"""),
    ("floormod", UP_TO_1000, [], """
floormod(x,1001)  ->  x
"""),
    ("min", {}, [], """
min(x+1,x+10)  ->  x + 1
min(x,x+2)  ->  x
min(max(x,y),min(x,y))  ->  min(x, y)
min(max(y,x),x)  ->  x
min(x,max(x,y))  ->  x
min(y,min(x,y))  ->  min(x, y)
min(max(x,y),max(x,z))  ->  max(min(y, z), x)
min(min(x,y),min(x,z))  ->  min(min(y, z), x)
min(y+x,x+z)  ->  (min(y, z) + x)
min(x-y,x-z)  ->  (x - max(y, z))
min(min(x,11),10)  ->  min(x, 10)
min(x*-2,8)  ->  (max(x, -4) * -2)
min(x*-2,y*-2)  ->  (max(x, y) * -2)
min(truncdiv(x,2),truncdiv(y,2))  ->  truncdiv(min(x, y), 2)
min(floordiv(x,4)*4,x)  ->  ((x // 4) * 4)
min(x+1,y+1)  ->  (min(x, y) + 1)
min(floormod(x,4),4)  ->  x % 4
min(x*4+4,16)  ->  (min((x + 1), 4) * 4)
"""),
    ("min", SMALL, [], """
min(x,15)  ->  x
min(x,0)  ->  0
min(y,x+8)  ->  y
"""),
    ("max", {}, [], """
max(x+1,x+10)  ->  x + 10
max(x,x+2)  ->  x + 2
max(min(x,y),max(x,y))  ->  max(x, y)
max(min(y,x),x)  ->  x
max(x,min(x,y))  ->  x
max(y,max(x,y))  ->  max(x, y)
max(min(x,y),min(x,z))  ->  min(max(y, z), x)
max(max(x,y),max(x,z))  ->  max(max(y, z), x)
max(y+x,x+z)  ->  (max(y, z) + x)
max(x-y,x-z)  ->  (x - min(y, z))
max(max(x,11),10)  ->  max(x, 11)
max(x*-2,8)  ->  (min(x, -4) * -2)
max(x*-2,y*-2)  ->  (min(x, y) * -2)
max(truncdiv(x,2),truncdiv(y,2))  ->  truncdiv(max(x, y), 2)
max(floordiv(x,4)*4,x)  ->  x
max(x+1,y+1)  ->  (max(x, y) + 1)
max(floormod(x,4),4)  ->  4
max(x*4+4,16)  ->  (max((x + 1), 4) * 4)
"""),
    ("max", SMALL, [], """
max(x,15)  ->  15
max(x,0)  ->  x
max(y,x+8)  ->  x + 8
"""),
    ("comparison", {}, [], """
x<x  ->  const(False)
x.equal(x)  ->  const(True)
x<x+1  ->  const(True)
y+x<z+x  ->  y < z
x-y<x-z  ->  z < y
x<x-z  ->  z < 0
x*3<y*3  ->  x < y
x*4>=2  ->  LE(1, x)
x*2<12  ->  x < 6
3<x*4  ->  LT(0, x)
x*2<=0  ->  x <= 0
x-1<10  ->  x < 11
10<x-1  ->  LT(11, x)
3<floordiv(x,2)  ->  LT(7, x)
floordiv(x,3)<0  ->  x < 0
truncdiv(x,4)*4<x  ->  LT(0, truncmod(x, 4))
floordiv(x,4)*4<x  ->  LT(0, (x % 4))
floordiv(x+2,4)*4<x  ->  LT(2, ((x + 2) % 4))
floordiv(x,4)*4>=x  ->  ((x % 4)).equal(0)
max(8,x)>10  ->  LT(10, x)
max(x,y)<z  ->  And((x < z), (y < z))
min(x,y)<=z  ->  Or((x <= z), (y <= z))
x+1<y+2  ->  x <= y
x<y+1  ->  x <= y
x<=y-1  ->  x < y
1-x<y  ->  LT(1, (y + x))
10-x<=y  ->  LE(10, (y + x))
0<x-y  ->  LT(0, (x - y))
x>=10  ->  LE(10, x)
5<=x  ->  LE(5, x)
x>0  ->  LT(0, x)
x*2<y*4  ->  (x < (y * 2))
x*4<16-y*4  ->  ((x + y) < 4)
(x-1).equal(5)  ->  x.equal(6)
(x*2).equal(3)  ->  const(False)
x!=5  ->  x != 5
x*y!=0  ->  And((x != 0), (y != 0))
x*4!=2  ->  const(True)
floormod(x,4)<4  ->  const(True)
floormod(x,4)<0  ->  const(False)
x+3>y  ->  (y < (x + 3))
min(x,y)<x  ->  y < x
x*3>=10  ->  LE(4, x)
-x<3  ->  LT(-3, x)
"""),
    ("comparison", SMALL, [], """
x<16  ->  const(True)
x>0  ->  LT(0, x)
x*8+y>=64  ->  LE(64, ((x * 8) + y))
x!=16  ->  const(True)
floordiv(x,4)<4  ->  const(True)
x<y+16  ->  const(True)
x*8+y<x*8+8  ->  const(True)
x<=0  ->  x.equal(0)
0<=x*8+y  ->  const(True)
"""),
    ("logical", {}, [], """
And(x<y,y<=x)  ->  const(False)
And(x>1,Not(x>1))  ->  const(False)
And(x<0,1<x)  ->  const(False)
And(1<=x,x<1)  ->  const(False)
And(x.equal(1),x.equal(2))  ->  const(False)
And(x<3,And(y<3,z<3))  ->  And(And((x < 3), (y < 3)), (z < 3))
And(floordiv(x,4).equal(3),2<=floormod(x,4))  ->  And(LE(14, x), (x < 16))
And(0<=x-y*4,x-y*4<4)  ->  y.equal((x // 4))
And(x<=15,floormod(x,8)<3)  ->  And((x < 11), ((x % 8) < 3))
Or(x<=y,y<x)  ->  const(True)
Or(x<1,0<x)  ->  const(True)
Or(x<=1,2<=x)  ->  const(True)
Or(x<y,x.equal(y))  ->  x <= y
Or(x<3,Or(y<3,z<3))  ->  Or(Or((x < 3), (y < 3)), (z < 3))
Not(x>y)  ->  x <= y
Not(x!=y)  ->  x.equal(y)
Not(Or(x<y,z<3))  ->  And((y <= x), LE(3, z))
And(x>=3,x<3)  ->  const(False)
all(x>=1,x<=5)  ->  And(LE(1, x), (x <= 5))
And(x<3,const(False))  ->  const(False)
And(x+1<4,4<x+2)  ->  const(False)
"""),
    ("constraint", {}, ['x<10'], """
x+1<5  ->  x < 4
x<10  ->  const(True)
x>=0  ->  LE(0, x)
min(x,10)  ->  x
max(x,10)  ->  10
Not(x<10)  ->  const(False)
10<=x  ->  const(False)
And(x<10,y<3)  ->  y < 3
Select(x<10,y,z)  ->  y
x!=10  ->  const(True)
x.equal(10)  ->  const(False)
if_then_else(x<10,y,z)  ->  y
"""),
    ("constraint", {}, ['0<=x', 'x<8'], """
floormod(x,8)  ->  x
x<8  ->  const(True)
x>=0  ->  const(True)
min(x,7)  ->  x
max(x,0)  ->  x
x.equal(8)  ->  const(False)
floordiv(x+y*8,8)  ->  y
floormod(x+y*8,8)  ->  x
x*4+3<32  ->  const(True)
"""),
    ("constraint", {}, ['floormod(x,4).equal(0)'], """
floormod(x,4)  ->  0
floormod(x+3,4)  ->  3
x.equal(1)  ->  const(False)
x!=3  ->  const(True)
floormod(x,2)  ->  0
floormod(x+y*4,4)  ->  0
"""),
    ("constraint", {}, ['x<y'], """
x<y  ->  const(True)
y<=x  ->  const(False)
x<=y  ->  const(True)
x!=y  ->  const(True)
x.equal(y)  ->  const(False)
x<y+1  ->  const(True)
x+1<=y  ->  const(True)
y>x  ->  const(True)
Select(x<y,1,2)  ->  1
"""),
    ("constraint", {}, ['x<y', 'y<z'], """
x<y  ->  const(True)
"""),
    ("constraint", {}, ['x.equal(5)'], """
x.equal(5)  ->  const(True)
x<6  ->  const(True)
x!=5  ->  const(False)
"""),
    ("constraint", {}, ['b'], """
b  ->  const(True)
Not(b)  ->  const(False)
And(b,x<1)  ->  x < 1
Or(b,x<1)  ->  const(True)
Select(b,x,y)  ->  x
if_then_else(b,x,y)  ->  x
"""),
    ("constraint", {}, ['Not(b)'], """
b  ->  const(False)
Not(b)  ->  const(True)
And(b,x<1)  ->  const(False)
Or(b,x<1)  ->  x < 1
Select(b,x,y)  ->  y
"""),
    ("constraint", {}, ['And(x<5,y<5)'], """
x<5  ->  const(True)
y<5  ->  const(True)
x<6  ->  const(True)
And(x<5,y<5)  ->  const(True)
Or(x<5,y<5)  ->  const(True)
x>=5  ->  const(False)
"""),
    ("constraint", {}, ['Not(Or(x<5,y<3))'], """
x<5  ->  const(False)
x>=5  ->  const(True)
y<3  ->  const(False)
y>=3  ->  const(True)
Or(x<5,y<3)  ->  const(False)
"""),
    ("constraint", {}, ['x.equal(y)'], """
x.equal(y)  ->  const(True)
x<y  ->  const(False)
"""),
    ("constraint", {}, ['x!=y'], """
x.equal(y)  ->  const(False)
x!=y  ->  const(True)
x<=y  ->  x < y
"""),
    ("cast", {}, [], """
Cast('int32',x)  ->  x
Cast('bool',x<3)  ->  x < 3
"""),
    ("cast", SMALL, [], """
Cast('int64',x)<16  ->  const(True)
"""),
    ("ite", {}, [], """
if_then_else(x<10,if_then_else(y<3,z,0),0)  ->  if_then_else(And((x < 10), (y < 3)), z, 0)
if_then_else(x<10,if_then_else(x<20,y,z),0)  ->  if_then_else((x < 10), y, 0)
if_then_else(likely(x<10),y+z-z,z)  ->  if_then_else(likely((x < 10)), y, z)
if_then_else(x>=0,if_then_else(x<4,1.0,2.0),2.0)  ->  if_then_else(And(LE(0, x), (x < 4)), const(1.0, 'float32'), const(2.0, 'float32'))
"""),
    ("ite", SMALL, [], """
if_then_else(x<16,y,z)  ->  y
if_then_else(x<8,y,if_then_else(x<16,z,0))  ->  if_then_else((x < 8), y, z)
"""),
    ("int64", {}, [], """
X*4//4  ->  X
floormod(X*8+Y,8)  ->  (Y % const(8, 'int64'))
X+1<=Y  ->  X < Y
X+1-1  ->  X
X//4*4+X%4  ->  X
"""),
]
CANONICAL = [
    ("quotient of a remainder", {"x": 1001, "y": 8, "z": 32}, [], """
floordiv(floormod((x*8+y)*32+z,512),32)  ->  floormod(x*8+y, 16)
floordiv(floormod(x*32+z,512),16)  ->  floormod(x*2+floordiv(z, 16), 32)
floordiv(floormod(x*32+y+3,512),32)  ->  floormod(x, 16)
floordiv(floormod(x*32+z+5,512),32)  ->  floormod(floordiv(z+5, 32)+x, 16)
floordiv(floormod(X*32+33,512),32)  ->  floormod(X+1, 16)
floordiv(floormod(x*64+z,512),32)  ->  floormod(x, 8)*2
floordiv(floormod(x*32+z,512)*2,32)  ->  floordiv(floormod(x*32+z, 512), 16)
floordiv(floormod(x*32+z,512),64)  ->  floordiv(floormod(x*32+z, 512), 64)
floordiv(floormod(x*32+z,500),32)  ->  floordiv(floormod(x*32+z, 500), 32)
floordiv(floormod(X,512),32)  ->  floordiv(floormod(X, 512), 32)
"""),
    ("vector", {}, [], """
ramp(x,2,4)+ramp(y,3,4)  ->  ramp((x + y), 5, 4)
broadcast(x,4)-ramp(y,3,4)  ->  ramp((x - y), -3, 4)
floordiv(ramp(x*16,1,8),broadcast(8,8))  ->  broadcast(((x * 16) // 8), 8)
floormod(ramp(x*16+6,1,4),broadcast(8,4))  ->  (ramp(6, 1, 4) % broadcast(8, 4))
broadcast(x,4)<broadcast(y,4)  ->  broadcast((x < y), 4)
And(broadcast(x>0,4),broadcast(y>1,4))  ->  broadcast(And(LT(0, x), LT(1, y)), 4)
truncmod(broadcast(x,4),broadcast(y,4))  ->  broadcast(truncmod(x, y), 4)
floordiv(ramp(x*4,1,4),broadcast(64,4))  ->  broadcast(((x * 4) // 64), 4)
"""),
    ("vector", UP_TO_1000, [], """
truncdiv(ramp(x,8,4),broadcast(4,4))  ->  ramp(truncdiv(x, 4), 2, 4)
"""),
    ("select", {}, [], """
min(Select(x<0,y,0),Select(x<0,1,z))  ->  Select((x < 0), min(y, 1), min(0, z))
Select(x>=10,max(x,10),z)  ->  Select(LE(10, x), x, z)
"""),
    ("select", UP_TO_1000, [], """
Select(x<0,y,z)  ->  z
"""),
    ("add", {}, [], """
x+(y-x)  ->  y
y*x+x*10  ->  ((x * 10) + (y * x))
x*2+x  ->  x * 3
x+(10-y)  ->  ((x + 10) - y)
x+(3+y)  ->  ((x + y) + 3)
floormod(x,2)+floormod(x+3,2)  ->  ((x % 2) + ((x + 1) % 2))
min(x+3,y)+-3  ->  (min((x + 3), y) - 3)
-x+x  ->  0
x*16+y*8+floordiv(z,2)*2+floormod(z,2)  ->  (((x * 16) + (y * 8)) + z)
"""),
    ("sub", {}, [], """
(x+y)-y  ->  x
x*y-10*x  ->  ((x * y) - (x * 10))
(y+x)-(z+x)  ->  y - z
x-(y-z)  ->  ((x + z) - y)
x-(y+z)  ->  ((x - y) - z)
floordiv(x,8)-floordiv(x,8)  ->  0
"""),
    ("mul", {}, [], """
(x+2)*3  ->  ((x * 3) + 6)
2*x  ->  x * 2
(x*4+y)*2  ->  ((x * 8) + (y * 2))
"""),
    ("truncdiv", {}, [], """
truncdiv(x,x)  ->  1
truncmod(x*8,4)  ->  0
"""),
    ("truncdiv", UP_TO_1000, [], """
truncdiv(truncdiv(x,4),2)  ->  truncdiv(x, 8)
truncdiv(x*6-y+(y+3),2)  ->  ((x * 3) + 1)
truncdiv(y*x,y)  ->  x
truncmod(x*10+1+y*2+2,2)  ->  1
truncmod(truncmod(x,4),16)  ->  truncmod(x, 4)
"""),
    ("floordiv", {}, [], """
floordiv(floordiv(x,4),2)  ->  x // 8
floordiv(x*6+y+z,2)  ->  ((x * 3) + ((y + z) // 2))
floordiv(x*4,x)  ->  4
floordiv(x*8,x*4)  ->  2
floordiv(4-x,2)  ->  (((0 - x) // 2) + 2)
"""),
    ("floordiv", SMALL, [], """
floordiv(x*16+y*2+z,16)  ->  ((((y * 2) + z) // 16) + x)
floordiv(x*32+y*4+z,16)  ->  ((x * 2) + (((y * 4) + z) // 16))
floordiv(x//4*4+z,4)  ->  x // 4
floordiv(x*56+y*7+6,28)  ->  ((x * 2) + (((y * 7) + 6) // 28))
"""),
    ("floordiv", UP_TO_1000, [], """
floordiv(y+(z+x),x)  ->  (((y + z) + x) // x)
floordiv(x*y*z,y)  ->  x * z
"""),
    ("floormod", {}, [], """
floormod(x*10,2)  ->  0
floormod(x*-10,2)  ->  0
floormod(x-3,5)  ->  ((x + 2) % 5)
floormod(floormod(x,4),16)  ->  x % 4
floormod(x+8-z,4)  ->  ((x - z) % 4)
floormod(x+y-8,8)  ->  ((x + y) % 8)
"""),
    ("floormod", SMALL, [], """
floormod(x*16+y*2+z,16)  ->  (((y * 2) + z) % 16)
floormod(x*32+y*4+z,16)  ->  (((y * 4) + z) % 16)
floormod(x//4*4+z,4)  ->  z
floormod(x*56+y*7+6,28)  ->  (((y * 7) + 6) % 28)
"""),
    ("floormod", UP_TO_1000, [], """
floormod(x,1001)  ->  x
"""),
    ("min", {}, [], """
min(x+1,x+10)  ->  x + 1
min(max(x,y),min(x,y))  ->  min(x, y)
min(x,max(x,y))  ->  x
min(max(x,y),max(x,z))  ->  max(min(y, z), x)
min(y+x,x+z)  ->  (min(y, z) + x)
min(min(x,11),10)  ->  min(x, 10)
min(x*-2,y*-2)  ->  (max(x, y) * -2)
min(floordiv(x,4)*4,x)  ->  ((x // 4) * 4)
min(floormod(x,4),4)  ->  x % 4
"""),
    ("min", SMALL, [], """
min(x,15)  ->  x
min(y,x+8)  ->  y
"""),
    ("max", {}, [], """
max(x+1,x+10)  ->  x + 10
max(min(x,y),max(x,y))  ->  max(x, y)
max(x,min(x,y))  ->  x
max(min(x,y),min(x,z))  ->  min(max(y, z), x)
max(y+x,x+z)  ->  (max(y, z) + x)
max(max(x,11),10)  ->  max(x, 11)
max(x*-2,y*-2)  ->  (min(x, y) * -2)
max(floordiv(x,4)*4,x)  ->  x
max(floormod(x,4),4)  ->  4
"""),
    ("max", SMALL, [], """
max(x,15)  ->  15
max(y,x+8)  ->  x + 8
"""),
    ("comparison", {}, [], """
x<x  ->  const(False)
x+10<x+9  ->  const(False)
x<z+x  ->  LT(0, z)
x*-3<y*-3  ->  ((y - x) < 0)
x*-2<12  ->  LT(-6, x)
x*2>0  ->  LT(0, x)
floordiv(x,2)<3  ->  x < 6
truncdiv(x,2)<3  ->  x < 6
floordiv(x,4)*4<x+y  ->  LT(0, ((x % 4) + y))
min(x,11)<10  ->  x < 10
z<min(x,y)  ->  And((z < x), (z < y))
x+1<=y+2  ->  (x <= (y + 1))
x<y-1  ->  ((x + 1) < y)
10<x+y  ->  LT(10, (x + y))
x>10  ->  LT(10, x)
x*8<y*8+8  ->  ((x - y) < 1)
x//4*4+4<=y*4  ->  ((x // 4) < y)
(x*4).equal(2)  ->  const(False)
x+y!=x  ->  ((x + y) != x)
floormod(x,4)<0  ->  const(False)
x*3<=10  ->  x <= 3
10-x<20-y  ->  (((y + 10) - x) < 20)
"""),
    ("comparison", SMALL, [], """
x<16  ->  const(True)
x*8+y>=64  ->  LE(64, ((x * 8) + y))
x.equal(-1)  ->  const(False)
x-y>-8  ->  const(True)
y*4+z<16  ->  y < 4
"""),
    ("logical", {}, [], """
And(x<y,y<=x)  ->  const(False)
And(x<0,1<x)  ->  const(False)
And(x.equal(1),x.equal(2))  ->  const(False)
And(floordiv(x,4).equal(3),2<=floormod(x,4))  ->  And(LE(14, x), (x < 16))
And(x<=15,floormod(x,8)<3)  ->  And((x < 11), ((x % 8) < 3))
Or(x<1,0<x)  ->  const(True)
Or(x<y,x.equal(y))  ->  x <= y
Not(x>y)  ->  x <= y
Not(Or(x<y,z<3))  ->  And((y <= x), LE(3, z))
all(x>=1,x<=5)  ->  And(LE(1, x), (x <= 5))
And(x+1<4,4<x+2)  ->  const(False)
"""),
    ("cast", {}, [], """
Cast('int32',x)  ->  x
Cast('int64',x)*2+Cast('int64',x)  ->  (Cast('int64', x) * const(3, 'int64'))
"""),
    ("cast", SMALL, [], """
Cast('int64',x+1)+1  ->  (Cast('int64', x) + const(2, 'int64'))
"""),
    ("ite", {}, [], """
if_then_else(x<10,if_then_else(y<3,z,0),0)  ->  if_then_else(And((x < 10), (y < 3)), z, 0)
Select(likely(x*2<10),y,z)  ->  Select(likely((x < 5)), y, z)
"""),
    ("ite", SMALL, [], """
if_then_else(x<16,y,z)  ->  y
"""),
    ("int64", {}, [], """
X*4//4  ->  X
X+1<=Y  ->  X < Y
"""),
]


def check(simplification, bounds, conditions, table):
    analyzer = tvm.arith.Analyzer()
    for name, extent in bounds.items():
        analyzer.bind(VARS[name], tvm.ir.Range(0, extent))
    with contextlib.ExitStack() as scopes:
        for condition in conditions:
            scopes.enter_context(analyzer.constraint_scope(eval(condition, NAMES)))
        for line in table.strip().splitlines():
            before, after = (eval(side, NAMES) for side in line.split("  ->  "))
            result = getattr(analyzer, simplification)(before)
            after = tir.const(after, result.dtype) if isinstance(after, (int, bool, float)) else after
            assert tvm.ir.structural_equal(result, after), f"{line}: is {result}"


@pytest.mark.parametrize("family, bounds, conditions, table", REWRITTEN)
def test_rewrite_simplify_gives_the_form(family, bounds, conditions, table):
    check("rewrite_simplify", bounds, conditions, table)


@pytest.mark.parametrize("family, bounds, conditions, table", CANONICAL)
def test_canonical_simplify_gives_the_form(family, bounds, conditions, table):
    check("canonical_simplify", bounds, conditions, table)


def test_vectors_of_scalable_length_are_simplified():
    analyzer, (x, y, _) = tvm.arith.Analyzer(), VARS.values()
    lanes = tir.vscale() * 4
    result = analyzer.rewrite_simplify(tir.Ramp(x, 2, lanes) + tir.Broadcast(y, lanes))
    tvm.ir.assert_structural_equal(result, tir.Ramp(x + y, 2, lanes))
    assert result.dtype == "int32xvscalex4"
    quotient = analyzer.rewrite_simplify(tir.floordiv(tir.Ramp(x, 8, lanes), tir.Broadcast(tir.IntImm("int32", 4), lanes)))
    tvm.ir.assert_structural_equal(quotient, tir.Ramp(x // 4, 2, lanes))


def test_simplify_is_canonical_then_rewritten_then_canonical():
    analyzer, (x, y, _) = tvm.arith.Analyzer(), VARS.values()
    tvm.ir.assert_structural_equal(analyzer.simplify(3 + y + x * 2), x * 2 + y + 3)
    tvm.ir.assert_structural_equal(analyzer.rewrite_simplify(y + (x * 2 + 3)), y + x * 2 + 3)
    tvm.ir.assert_structural_equal(analyzer.simplify(3 + y, steps=0), y + 3)
    for name, extent in (("x", 16), ("y", 8), ("z", 32)):
        analyzer.bind(VARS[name], tvm.ir.Range(0, extent))
    index = tir.floormod((x * 8 + y) * 32 + VARS["z"], 512)
    tvm.ir.assert_structural_equal(analyzer.simplify(tir.floordiv(index, 32)), tir.floormod(x, 2) * 8 + y)


if __name__ == "__main__":
    tvm.testing.main()


def test_floats_fold_where_the_result_is_exact_or_rounded_as_the_type_rounds():
    x = tir.Var("x", "float32")
    one, four, zero = (tir.FloatImm("float32", value) for value in (1, 4, 0))
    analyzer = tvm.arith.Analyzer()
    assert analyzer.simplify(tir.Mul(one, four)).value == 4
    assert analyzer.simplify(tir.Mul(x, one)).same_as(x) and analyzer.simplify(tir.Mul(one, x)).same_as(x)
    assert analyzer.simplify(tir.Div(x, one)).same_as(x) and analyzer.simplify(tir.Sub(x, zero)).same_as(x)
    assert analyzer.simplify(tir.Add(tir.FloatImm("float32", 0.1), tir.FloatImm("float32", 0.2))).value == float(np.float32(np.float32(0.1) + np.float32(0.2)))
    assert isinstance(analyzer.simplify(tir.Add(x, zero)), tir.Add)  # -0.0 + 0.0 is 0.0.


def _simplified(func, **options):
    with tvm.transform.PassContext(config={"tir.Simplify": options}):
        return tir.transform.Simplify()(tvm.IRModule.from_expr(func)).script()


@T.prim_func
def chained(A: T.Buffer((3,), "bool"), i: T.int32, j: T.int32, k: T.int32):
    if i < j and j < k:
        A[0] = i < k
        A[1] = i + 1 < k
        A[2] = i < j + 1


def test_one_inequality_is_used_and_a_chain_of_them_on_demand():
    plain, chain = _simplified(chained), _simplified(chained, transitively_prove_inequalities=True)
    assert "A[0] = i < k" in plain and "A[2] = T.bool(True)" in plain
    assert all(f"A[{n}] = T.bool(True)" in chain for n in range(3))


@T.prim_func
def same_and_other(A: T.Buffer((3,), "bool"), i: T.int32, j: T.int32, k: T.int32):
    if i == j and j != k:
        A[0] = i != k
        A[1] = k == i
    if i == j:
        if j != k:
            A[2] = i == k


def test_what_is_the_same_differs_from_what_the_other_differs_from_on_demand():
    plain, chain = _simplified(same_and_other), _simplified(same_and_other, transitively_prove_inequalities=True)
    assert "A[0] = i != k" in plain and "A[1] = k == i" in plain
    assert [f"A[{n}] = T.bool({value})" in chain for n, value in enumerate((True, False, False))] == [True] * 3


@T.prim_func
def disjunctions(A: T.Buffer((3,), "bool"), n: T.int32, i: T.int32, j: T.int32):
    A[0] = (n == 0 or i < 5) and i < 5
    A[1] = (i < 5 and i < 9) or (i < 5 and n == 1)
    A[2] = (i < 5 or j < 4) and (i < 3 or j < 4)


def test_what_a_disjunction_says_is_not_said_again():
    text = _simplified(disjunctions, convert_boolean_to_and_of_ors=True)
    assert "A[0] = i < 5\n" in text
    assert "A[1] = i < 5 and (i < 9 or n == 1)" in text
    both = _simplified(disjunctions, convert_boolean_to_and_of_ors=True, apply_constraints_to_boolean_branches=True)
    assert "A[2] = i < 3 or j < 4" in both


def test_a_predicate_is_not_taken_for_granted():
    @T.prim_func
    def func(A: T.Buffer((2,), "int32")):
        for i in T.unroll(2):
            with T.block():
                T.where(1 <= i)
                T.writes(A[0:2])
                A[(i + 1) % 2] = 0

    assert "A[(i + 1) % 2] = 0" in _simplified(func)


def test_what_follows_from_two_bounds_stays():
    @T.prim_func
    def func(A: T.Buffer((8, 8), "bool")):
        for i, j in T.grid(8, 8):
            if i < j:
                A[i, j] = i < 7

    assert "A[i, j] = i < 7" in _simplified(func)
