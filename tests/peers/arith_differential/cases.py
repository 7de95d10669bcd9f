"""Expressions by family: (bounds, constraints, text). Own ones; by hand and from templates."""
import itertools
import random

NB = {}
P = {"x": (0, 1000), "y": (0, 1000), "z": (0, 1000)}
S = {"x": (0, 15), "y": (0, 7), "z": (0, 3)}
FAM = {}


def fam(name, items, bounds=NB, cons=()):
    FAM.setdefault(name, []).extend((bounds, cons, t) for t in items)


fam("vector", """ramp(x,2,4)+ramp(y,3,4)|ramp(x,2,4)+broadcast(y,4)|broadcast(x,4)+ramp(y,1,4)|broadcast(x,4)+broadcast(y,4)|ramp(x,4,4)-ramp(y,2,4)
ramp(x,4,4)-broadcast(y,4)|broadcast(x,4)-ramp(y,3,4)|broadcast(x,4)-broadcast(y,4)|broadcast(x,4)*broadcast(y,4)|ramp(x,4,4)*broadcast(3,4)|broadcast(3,4)*ramp(x,4,4)
fld(ramp(x,8,4),broadcast(4,4))|fld(ramp(x*16,1,8),broadcast(8,8))|fld(ramp(x*16+3,1,4),broadcast(8,4))|fld(ramp(x*16+6,1,4),broadcast(8,4))|fld(broadcast(x,4),broadcast(y,4))
flm(ramp(x,8,4),broadcast(4,4))|flm(ramp(x*16,1,8),broadcast(8,8))|flm(ramp(x*16+3,1,4),broadcast(8,4))|flm(ramp(x*16+6,1,4),broadcast(8,4))|flm(broadcast(x,4),broadcast(y,4))
tmin(broadcast(x,4),broadcast(y,4))|tmax(broadcast(x,4),broadcast(y,4))|tmax(tmax(ramp(x,1,4),broadcast(3,4)),broadcast(7,4))|tmin(tmin(ramp(x,1,4),broadcast(3,4)),broadcast(7,4))
broadcast(x,4)<broadcast(y,4)|broadcast(x,4).equal(broadcast(y,4))|ramp(x,2,4)<ramp(y,2,4)|broadcast(x,4)>broadcast(y,4)|broadcast(x,4)>=broadcast(y,4)|broadcast(x,4)<=broadcast(y,4)
tir.And(broadcast(x>0,4),broadcast(y>1,4))|tir.Or(broadcast(x>0,4),broadcast(y>1,4))|tir.Not(broadcast(x>0,4))|ramp(x,0,4)|ramp(x,y-y,4)|ramp(x+y-y,1,4)
tdiv(broadcast(x,4),broadcast(y,4))|tmod(broadcast(x,4),broadcast(y,4))|ramp(x,1,4)+x+y|ramp(x*4,1,4)*2|ramp(x,1,4)//4|fld(ramp(flm(x,4)*8,1,8),broadcast(8,8))|fld(ramp(x*8,1,8),broadcast(16,8))|flm(ramp(x*8,1,8),broadcast(16,8))
fld(ramp(x*4,1,4),broadcast(64,4))|fld(ramp(x*8+1,2,4),broadcast(8,4))|fld(ramp(x*8+1,2,4),broadcast(16,4))|flm(ramp(x*8+1,2,4),broadcast(16,4))|flm(ramp(x*4,1,5),broadcast(64,5))|fld(ramp(x*4,1,5),broadcast(64,5))|flm(ramp(x*8+1,15,4),broadcast(4,4))""".replace("\n", "|").split("|"))
fam("vector", "tdiv(ramp(x,8,4),broadcast(4,4))|tdiv(ramp(x*8+1,1,4),broadcast(8,4))|tmod(ramp(x,8,4),broadcast(4,4))|tmod(ramp(x*8+1,1,4),broadcast(8,4))|tmod(ramp(x*8+6,1,4),broadcast(8,4))|tdiv(ramp(x*8+6,1,4),broadcast(8,4))".split("|"), P)
fam("vscale", """ramp(x,2,4*VS)+ramp(y,3,4*VS)|ramp(x,2,4*VS)+broadcast(y,4*VS)|broadcast(x,4*VS)+broadcast(y,4*VS)|broadcast(x,4*VS)*broadcast(y,4*VS)|ramp(x,4,4*VS)*broadcast(3,4*VS)|fld(ramp(x,8,4*VS),broadcast(4,4*VS))|flm(ramp(x,8,4*VS),broadcast(4,4*VS))|flm(ramp(x*8+1,15,4*VS),broadcast(4,4*VS))
fld(x,VS*4)|flm(x*VS,VS)|fld(x*VS,VS)|VS*4//4|VS*8//4|fld(VS*4*x+y,VS*4)|flm(VS*4*x+y,VS*4)|tmin(VS*4,VS*8)|tmax(VS*4,VS*8)|fld(ramp(x*4,1,4*VS),broadcast(4,4*VS))|VS*4<VS*8|VS*2+VS*3|VS-VS""".replace("\n", "|").split("|"))
fam("select", """tir.Select(x<0,y,0)+tir.Select(x<0,1,z)|tir.Select(x<0,y,1)-tir.Select(x<0,1,z)|tir.Select(x<0,y,z)-y|tir.Select(x<0,y,z)-z|tmin(tir.Select(x<0,y,0),tir.Select(x<0,1,z))|tmax(tir.Select(x<0,y,0),tir.Select(x<0,1,z))
tir.Select(x*3+1!=0,y,z)|tir.Select(x<0,y+1,1+y)|tir.Select(x<y,x<y,z<1)|tir.Select(x<5,tmin(x,5),x)|tir.Select(x>=10,tmax(x,10),z)|tir.Select(x<10,tir.Select(x<20,y,z),x)|tir.Select(x<10,tir.Select(x<5,y,z),x)|tir.Select(tir.all(x<10,y<3),y<3,z<1)|tir.Select(x.equal(0),x+y,z)|tir.Select(x<y,1,0)+tir.Select(y<x,1,0)|tir.Select(x<y,x,x)""".replace("\n", "|").split("|"))
fam("select", "tir.Select(x>=0,y,z)|tir.Select(x<0,y,z)|tir.Select(tir.any(x<0,y<0),1,2)".split("|"), P)
fam("add", """x+(y-x)|(x-y)+y|(x-y)+(y-z)|(x-y)+(z-x)|tmin(x,y-z)+z|tmin(x-z,y)+z|tmax(x,y-10)+10|tmax(x-11,y)+11|tmin(x,y*2-z)+z|tmax(x,y*2-z)+z|tmin(x,y+z*2)+z*-2|tmax(x,y)+tmin(x,y)|tmax(x,y)+tmin(y,x)|tmin(x,y)+tmax(y,x)
x*y+x*10|y*x+x*10|y*x+10*x|x*y+10*x|(2*z)+tmin(x,y-(2*z))|y*x+x|x*y+x|x+x*y|x+y*x|x+x|x+x+x|x*2+x|x+x*5|x*y+z*x|(x+10)+13|(x+10)+(13+z)|x*y*10+x*y*20|x*3+10+y*3+5|x+(10-y)|(10-y)+x|x+tmax(y,z)|x+tmin(y,z)|3+x|3+x+y|(x+3)+y|x+(y+3)|x+(3+y)|1+x+2+y+3
fld(x,8)*8+flm(x,8)|flm(x,8)+fld(x,8)*8|8*fld(x,8)+flm(x,8)|fld(x,y)*y+flm(x,y)|y*fld(x,y)+flm(x,y)|tdiv(x,8)*8+tmod(x,8)|fld(x,2)+flm(x,2)|fld(flm(x,8)+3,8)+fld(x,8)|flm(x+1,2)+flm(x,2)|flm(x,2)+flm(x+3,2)|flm(x,4)+y*4|flm(y,8)+x*8|x*1+y*0+z|(x+y)*2+(y+x)*3|x*4+y*-4|tmax(x,y+3)-3+0|tmin(x,y+3)+-3|tmin(x+3,y)+-3|x+(y-x)+z|z+(x-y)+y|(x+y+z)-(y)+1|x-y+x-y|x+y+x+y|-x+x|x*(-1)+y|fld(x,4)*4+flm(x,4)+y|fld(x,16)*16+flm(fld(x,4),4)*4+flm(x,4)|flm(x,16)//4*4+flm(x,4)|fld(x+y,4)*4+flm(x+y,4)|x*16+y*8+fld(z,2)*2+flm(z,2)""".replace("\n", "|").split("|"))
fam("sub", """(x+y)-y|(x+y)-x|(y+x)-y|x-(y+x)|x-(x+y)|tmin(x,y)-y|tmin(x,y)-x|x-tmax(y,x)|x-tmax(x,y)|tmax(x,y)-y|tmax(x,y)-x|x-tmin(y,x)|x-tmin(x,y)|x-x|x*y-x|x*y-10*x|y*x-10*x|x-x*y|x-y*x|x*y-x*z|y*x-z*x|(x+10)-20|(x-10)-20|(10-x)-(20-y)|(x+y)-(x+z)|(y+x)-(z+x)|(x+y)-(z+x)|tmin(x+y,z)-x|tmin(y+x,z)-x|tmin(z,x+y)-x|tmax(x+y,z)-x|tmax(z,y+x)-x|x-tmin(x+y,z)|x-tmin(z,y+x)|x-tmax(x+y,z)|x-tmax(z,x+y)|tmin(x,y)-tmin(y,x)|tmax(x,y)-tmax(y,x)|tmin(x,y)-tmin(x+10,y+10)|tmin(x+10,y+1)-tmin(x,y-9)|tmax(x+10,y+1)-tmax(x,y-9)|tmax(x,y)-tmax(y+1,x+1)
x-fld(x,3)*3|fld(x,5)*5-x|x-fld(x+y,5)*5|fld(x+y,5)*5-x|x-fld(x-y,5)*5|fld(x-y,5)*5-x|x*4-fld(x,3)*12|fld(x,3)*12-x*4|x*2-fld(x+y,3)*6|fld(x+y,3)*6-x*2|x*2-fld(x-y,3)*6|fld(x-y,3)*6-x*2|fld(y+7,3)-fld(y,3)|fld(y+7,3)-fld(y+2,3)|fld(x+1,2)-fld(x,2)|fld(x+3,2)-fld(x+2,2)|fld(x,2)-fld(x+5,2)|fld(x+1,2)-flm(x,2)|x-tdiv(x,3)*3|tdiv(x,5)*5-x|x*4-tdiv(x,3)*12|x-tdiv(x+y,5)*5
x-10|x+10-y|x-(y+10)|x-(y-z)|x-y*3|x-y*-3|10-x|10-(x+3)|(x+3)-(y+5)|3*x-2*x|x*8-x*2-y*3|x-y-z|x-(y+z)|0-x|0-(x-y)|x-y+y-z|x*2-(x+x)|(x+y)*3-x*3|(x*4+y*2)-(y*2+x)|fld(x,8)-fld(x,8)|fld(x*8+y,8)-x|x-flm(x,8)|flm(x,8)-x|z-(x-y)-1|5-tmin(x,5)|5-tmax(x,5)|tmin(x,8)-8|tmax(x-3,0)-x|tmin(x*4+4,y)-x*4""".replace("\n", "|").split("|"))
fam("sub", "tdiv(x+7,3)-tdiv(x,3)|tdiv(x+7,3)-tdiv(x+2,3)|fld(x+7,3)-fld(x,3)".split("|"), P)
fam("mul", """(x+2)*3|(x*2)*3|tmin(x,y)*tmax(x,y)|tmax(x,y)*tmin(x,y)|(x-y)*-2|(x-y)*2|x*(2*y)|x*(y*2)|2*x|x*y*2|(x*2)*(y*3)|(x*y)*3|3*(x*y)|(x+y)*3|3*(x+y)|x*0|x*1|-1*x|(x+y)*(x-y)|(x+1)*y|x*(y+1)|(x*4+y)*2|fld(x,4)*4|fld(x-flm(x,4),4)*4|fld(x+3,4)*4|flm(x,4)*2|(x-flm(x,4))*2|fld(x-flm(x,-4),4)*4|(5-x)*3|(5-x)*-3|(x*-2)*-3|(-x)*y""".replace("\n", "|").split("|"))
fam("truncdiv", """tdiv(x,x)|tdiv(x*4,x)|tdiv(x*8,4)|tdiv(x*4,8)|tdiv(tdiv(x,4),2)|tdiv(x*-8,4)|tdiv(x,1)|tdiv(0,x)|tdiv(x,-3)|tdiv(x*6,4)|tmod(x*8,4)|tmod(x*3,4)|tmod(x,-5)|tmod(x,1)|tmod(x*10+1,2)|tmod(x,x)|tdiv(x+y,2)|tmod(x+y,2)""".replace("\n", "|").split("|"))
fam("truncdiv", """tdiv(tdiv(x,4),2)|tdiv(tdiv(x,4)+3,2)|tdiv(x*8,4)|tdiv(x*4,8)|tdiv(x*4+y,2)|tdiv(x*4+y,8)|tdiv(tmin(x*6,y),2)|tdiv(tmax(x*6,y),2)|tdiv(y+x*4,2)|tdiv(tmin(y,x*6),2)|tdiv(tmax(y,x*6),2)|tdiv(x*6+y+z,2)|tdiv(x*6-y+(y+3),2)|tdiv(x*6+(y+3)-y,2)|tdiv(y+x*6+z,2)|tdiv(x+4,2)|tdiv(x+6,4)|tdiv(x+y,x)|tdiv(y+x,x)|tdiv((x+y)+z,x)|tdiv(y+(z+x),x)|tdiv(x*y,y)|tdiv(y*x,y)|tdiv(x*z+y,z)|tdiv(z*x+y,z)|tdiv(y+x*z,z)|tdiv(y,2000)
tmod(x*10,2)|tmod(x*10+y,2)|tmod(x+10,2)|tmod(x+y*10,2)|tmod(x*10+1+y*2+2,2)|tmod(x*8+1,4)|tmod(x,2000)|tmod(x+5,4)|tmod(x*4+y,8)|tmod(x,8)|tdiv(x,8)*8+tmod(x,8)|tdiv(x-6,4)|tmod(x-6,4)|tmod(tmod(x,16),4)|tmod(tmod(x,4),16)|tdiv(tmod(x,16),4)|tmod(tdiv(x,4),4)|tdiv(x*12+y*4+z,4)|tdiv(x*7+y*14,7)""".replace("\n", "|").split("|"), P)
fam("floordiv", """fld(fld(x,4),2)|fld(fld(x,4)+1,3)|fld(x*4,2)|fld(x*4,8)|fld(x*-4,2)|fld(x*-8,-4)|fld(x*4+y,2)|fld(x*4+y,8)|fld(tmin(x*6,y),2)|fld(tmax(x*6,y),2)|fld(y+x*4,2)|fld(tmin(y,x*6),2)|fld(x*6+y+z,2)|fld(x*6-y+z,2)|fld(x*6+y-z,2)|fld(y+x*6+z,2)|fld(x+4,2)|fld(x+9,4)|fld(x-9,4)|fld(x,x)|fld(x*4,x)|fld(x*12,4)|fld(x*12+3,4)|fld(x*12+5,4)|fld(x*4+2,8)|fld(x*8+7,4)|fld(x*-12,4)|fld(flm(x,2)+1,2)|fld(x*8,x*4)|fld(x*3,x*2)|fld(x-flm(x,21),21)|fld(x+3-flm(x+3,21),21)|fld(0,x)|fld(x,1)|fld(x,-3)|fld(x*y,y)|fld(x+y,x)|fld(x*z+y,z)|fld(x*360+y,16)|fld(x*360-8,16)|fld(x*360+y,25)|fld(y*16+x*16+z,16)|fld(x+y*4,4)|fld(x-y*4,4)|fld(4-x,2)|fld(x*2+y*2,4)|fld(x*2+4,4)|fld(x*2+1,4)|fld(flm(x,16),4)|fld(fld(x,4)+fld(y,4),4)|fld(x+1,4)+1|fld(x*64+y*16+z,16)|fld(x*16+y*4+z,64)|fld((x+y)*4,4)|fld(fld(x*16+y,4),4)|fld(x+15,16)*16|fld(x+7,8)-1|fld(-x,4)|fld(x//2+1,2)""".replace("\n", "|").split("|"))
FD = """fld(x*16+y*2+z,16)|fld(x*8+y,8)|fld(x*8+y,16)|fld(x*8+y,4)|fld(x*4+z,4)|fld(x*4+z,16)|fld(y*4+z,32)|fld(x*32+y*4+z,8)|fld(x*32+y*4+z,16)|fld(x,16)|fld(x+1,16)|fld(x+16,16)|fld(x,4)|fld(y+x*8+1,8)|fld(x+y*16,4)|fld(x*2+1,4)|fld(x*4+z+1,4)|fld(fld(x,4)*4+z,8)|fld(x//4*4+z,4)|fld(y,z+8)|fld(x+y+z,32)|fld(x-z,4)|fld(x*4-z,4)|fld(x*4+y,4)|fld(8-y,4)|fld(x*7+y,7)|fld(x*56+y*7+6,28)|fld(y*16+x,8)|fld(z+x*4,2)"""
fam("floordiv", FD.split("|"), S)
fam("floordiv", "fld(x+y,x)|fld(y+x,x)|fld((x+y)+z,x)|fld((y+x)+z,x)|fld(y+(z+x),x)|fld(y+(x+z),x)|fld(x*y,y)|fld(y*x,y)|fld(x*z+y,z)|fld(z*x+y,z)|fld(y+x*z,z)|fld(y+z*x,z)|fld(x*z*2+y,z*2)|fld(x*z*4+y,z*4)|fld(x,1001)|fld(x,1000)|fld(x*4+2,4)|fld(x*y*z,y)|fld(x*(y*z),z*y)|fld(x*4*y,y*2)|fld(x*y,x*z)".split("|"), P)
fam("floormod", """flm(x*10,2)|flm(x*9600,6400)|flm(x*10+y,2)|flm(x*360+y,16)|flm(x+10,2)|flm(x+y*10,2)|flm(x+y*360,16)|flm(x*10+1+y*2+2,2)|flm(x*-10,2)|flm(x*-10+y,2)|flm(x+-10,2)|flm(x+y*-10,2)|flm(x*32+y,64)|flm(x*32-y,64)|flm(x*z*2+y,z*2)|flm(x+5,2)|flm(x+3,3)|flm(x-3,5)|flm(x,x)|flm(x*y,y)|flm(y*x,y)|flm(x*4,x*3)|flm(x,1)|flm(0,x)|flm(x,-3)|flm(flm(x,16),4)|flm(flm(x,4),16)|flm(flm(x,12),8)|flm(flm(x,4)+y,4)|flm(flm(x,4)*4+y,16)|flm(x*4,16)|flm(x*4+2,16)|flm(x*4+z,16)|flm(fld(x,4),4)|flm(fld(x,4)*4+1,8)|flm(x*16+y*4+z,64)|flm(x-flm(x,4),4)|flm(flm(x,4)-x,4)|flm(x+flm(-x,4),4)|flm(y+x*8,8)|flm(x+8-z,4)|flm(-x,4)|flm(4-x,4)|flm(x*6,4)|flm(x*6+y*4,8)|flm(x*3,6)|flm((x+y)*4,8)|flm(x+y+8,8)|flm(x+y-8,8)|flm(x*8+3,4)|flm(x*8+7,4)+y""".replace("\n", "|").split("|"))
fam("floormod", FD.replace("fld", "flm").split("|"), S)
fam("floormod", "flm(x,1001)|flm(x,1000)|flm(x+1,1001)|flm(x*y,y)|flm(x*z*2+y,z*2)|flm(x*z+y,z)|flm(x+y,x)|flm(x*y*z,y*2)|flm(x*4*y,y*2)|flm(x*4*y+1,y*4)".split("|"), P)
MM = """min(x,x)|min(x,y)|min(x+1,x+10)|min(x+111,x+10)|min(x+1,x)|min(x,x+2)|min(1-x,2-x)|min(3-x,2-x)|min(max(x,y),min(x,y))|min(max(x,y),min(y,x))|min(max(x,y),x)|min(max(y,x),x)|min(min(x,y),x)|min(min(x,y),y)|min(x,max(x,y))|min(x,max(y,x))|min(x,min(x,y))|min(y,min(x,y))|min(min(min(x,y),z),y)|min(min(min(min(x,y),z),x*2),y)|min(max(x,y),max(x,z))|min(max(x,y),max(z,x))|min(max(y,x),max(x,z))|min(min(x,y),min(x,z))|min(min(y,x),min(z,x))|min(y+x,z+x)|min(y+x,x+z)|min(x+y,z+x)|min(x+y,x+z)|min(x-y,x-z)|min(y-x,z-x)|min(min(x,1),10)|min(min(x,11),10)|min(x*3,9)|min(3-x,2)|min(x*-2,8)|min(x*2,0)|min(x*3,10)|min(x*2,y*2)|min(x*-2,y*-2)|min(fld(x,2),fld(y,2))|min(fld(x,-2),fld(y,-2))|min(tdiv(x,2),tdiv(y,2))|min(fld(x+3,4)*4,x)|min(x,fld(x+3,4)*4)|min(fld(x,4)*4,x)|min(x,fld(x,4)*4)|min(min(x,5),y)|min(x,min(y,5))|min(5,x)|min(x,5)|min(x+y,5)|min(x*4,y)|min(x+1,y+1)|min(x+1,y+2)|min(x-1,y-1)|min(10-x,3)|min(x,y)+min(x,z)|min(x,0)|min(fld(x+4,5)*5,max(x,5))|min(flm(x,4),4)|min(flm(x,4),3)|min(x*8+8,y*8)|min(x*4+4,16)|min(4,16-x)|min(x//4,y//4+1)|min(min(x+1,y),x+3)"""
mm = [t for t in MM.split("|")]
sub = lambda t, a, b: t.replace("min(", "@@").replace("max(", b + "(").replace("@@", a + "(")
fam("min", [sub(t, "tmin", "tmax") for t in mm])
fam("max", [sub(t, "tmax", "tmin") for t in mm])
MB = "min(x,15)|min(x,16)|min(x,14)|min(x,y+15)|min(x,0)|min(-x,0)|min(x*2,32)|min(y,x+8)|min(x*8+y,128)|min(8-y,1)|min(z,4-z)|min(x,y)"
fam("min", [sub(t, "tmin", "tmax") for t in MB.split("|")], S)
fam("max", [sub(t, "tmax", "tmin") for t in MB.split("|")], S)
CMP = """x<x|x<=x|x>x|x.equal(x)|x!=x|x+1<x|x<x+1|x+10<x+9|x+y<x+z|y+x<z+x|x+y<z+x|y-x<z-x|x-y<x-z|x<z+x|x<x+z|x<x-z|100<x+1|1<100-x|x*3<y*3|x*-3<y*-3|x*3>=y*3|x*4>=2|x*2>=50|x*2<=11|x*2<12|x*-2<12|x*-4<3|3<x*4|-7<x*4|x*2<-3|x*2<=0|x*2>0|1-x<10|x-1<10|x+1<10|x+1<=10|10<x-1|fld(x,2)<3|fld(x,2)<=3|3<fld(x,2)|fld(x,4)>=2|fld(x,3)>0|fld(x,3)<0|tdiv(x,2)<3|3<tdiv(x,2)|tdiv(x,4)*4<x|tdiv(x,4)<0|0<tdiv(x,4)|fld(x,4)*4<x|fld(x,4)*4<x+y|fld(x,4)*4<x-y|fld(x+2,4)*4<x|fld(x+2,4)*4<x+y|fld(x+2,4)*4<x-y|fld(x,4)*4>=x
tmin(x,11)<10|tmin(x,8)<10|tmax(8,x)>10|x+1<tmax(8,x)|tmin(x,y)<z|tmax(x,y)<z|z<tmin(x,y)|z<tmax(x,y)|tmin(x,y)<=z|tmax(x,y)<=z|x<10+y|x<y+10|x+10<y|x+10<=y|x+1<y+2|x+1<=y+2|x+2<y+1|x<y+1|x<=y+1|x-1<y|x-1<=y|x<=y-1|x<y-1|x+1<=y|x+1<y|1-x<y|x<1-y|x<10-y|10-x<=y|10<x+y|x+y<10|x-y<10|10<x-y|0<x-y|x-y<0|x-y<=0|x>=y|x>y|x>=10|x>10|10>x|10>=x|5<x|5<=x|0<=x|x>=0|x>0|x*8<y*8+8|x*8+8<y*8|x*2<y*4|x*6<y*4+2|x*y<z*y|x+y+1<x+z|x+y<z+y+3|x*4+y*4<16|x*4+y<16|x*4<16-y*4|x//4*4+4<=y*4|x.equal(5)|(x+1).equal(5)|(x-1).equal(5)|(5-x).equal(3)|x.equal(y)|(x+y).equal(x)|(x*y).equal(0)|(x*2).equal(4)|(x*2).equal(3)|(x*2).equal(y*2)|(x+1).equal(y+1)|(x*4).equal(2)|(x*4+1).equal(2)|(x-y).equal(0)|x!=5|x+1!=5|x*2!=4|x*y!=0|x+y!=x|x-y!=0|x*4!=2|x<2147483647|(x*4+1).equal(y*2)|flm(x,4).equal(5)|flm(x,4)<4|flm(x,4)<=3|flm(x,4)>=0|flm(x,4)<0|flm(x,4).equal(0)|fld(x,4).equal(2)|fld(x,4)!=2|x+3>=y+3|x+3>y|3>=x-y|tmin(x,y)<=x|tmax(x,y)>=x|tmin(x,y)<x|x//8<y//8|x-y>=z-y|x*3<=10|x*3>=10|x*3<10|x*-3<=10|-x<3|-x<=y|x<-y|-x<-y|10-x<20-y"""
fam("comparison", CMP.replace("\n", "|").split("|"))
CB = "x<16|x<=15|x<15|x>=0|x>0|x<0|x*8+y<128|x*8+y<64|y+x*8<=63|x*8+y>=64|x*4+z<32|x*4+z<33|x*4+z<31|x+y<23|x+y<22|x.equal(16)|x!=16|x!=15|x.equal(-1)|fld(x,4)<4|fld(x,4)<3|flm(x,4)<4|x<y+16|y<x+8|x-y>-8|x*16+y*2+z<100|x*8+y<x*8+8|tmin(x,y)<8|x!=0|x<=0|x>=15|y*4+z.equal(3)|y*4+z<16|y*4+z<18|x*8+flm(y*2+z,8)<64|16<x+y|0<=x*8+y"
fam("comparison", CB.split("|"), S)
LG = """tir.And(x<y,y<=x)|tir.And(x.equal(y),x!=y)|tir.And(x<y,tir.Not(x<y))|tir.And(x>1,tir.Not(x>1))|tir.And(x<=y,y<x)|tir.And(x<1,0<x)|tir.And(x<0,1<x)|tir.And(x<1,1<=x)|tir.And(x<=1,1<x)|tir.And(1<=x,x<1)|tir.And(x<=1,2<=x)|tir.And(2<=x,x<=1)|tir.And(x.equal(1),x.equal(2))|tir.And(x.equal(1),x!=2)|tir.And(x.equal(1),x!=1)|tir.And(x<3,y<3)|tir.And(x<3,tir.And(y<3,z<3))|tir.And(fld(x,2).equal(3),flm(x,2).equal(1))|tir.And(fld(x,4).equal(3),flm(x,4)<2)|tir.And(fld(x,4).equal(3),2<=flm(x,4))|tir.And(fld(x,4).equal(3),flm(x,4)<=2)|tir.And(fld(x,4).equal(3),2<flm(x,4))|tir.And(0<=x-y*4,x-y*4<4)|tir.And(x<20,flm(x,8)<3)|tir.And(x<16,flm(x,8)<3)|tir.And(x<=15,flm(x,8)<3)|tir.Or(x<y,y<=x)|tir.Or(x.equal(y),x!=y)|tir.Or(x<=y,y<x)|tir.Or(x<y,y<x)|tir.Or(x>1,tir.Not(x>1))|tir.Or(x<1,0<x)|tir.Or(x<1,1<=x)|tir.Or(x<=1,1<x)|tir.Or(x<=1,2<=x)|tir.Or(x!=1,x!=2)|tir.Or(x!=1,x.equal(2))|tir.Or(x<y,x.equal(y))|tir.Or(x.equal(y),x<y)|tir.Or(y.equal(x),x<y)|tir.Or(x<3,tir.Or(y<3,z<3))|tir.Or(x<3,y<3)|tir.Not(x<y)|tir.Not(x<=y)|tir.Not(x>y)|tir.Not(x>=y)|tir.Not(x.equal(y))|tir.Not(x!=y)|tir.Not(tir.Not(x<y))|tir.Not(tir.And(x<y,z<3))|tir.Not(tir.Or(x<y,z<3))|tir.And(x<y,x<y)|tir.Or(x<y,x<y)|tir.And(x<3,x<5)|tir.Or(x<3,x<5)|tir.And(x<3,x>=0)|tir.And(x>3,x<3)|tir.And(x>=3,x<3)|tir.Or(x>=3,x<3)|tir.Or(x>3,x<3)|tir.And(tir.And(x<3,y<2),x<3)|tir.all(x<3,y<4,z<5)|tir.any(x<3,y<4,z<5)|tir.all(x>=1,x<=5)|tir.And(x<3,tir.const(True))|tir.Or(x<3,tir.const(True))|tir.And(x<3,tir.const(False))|tir.Or(b,tir.Not(b))|tir.And(b,tir.Not(b))|tir.And(b,b)|tir.And(x+1<4,4<x+2)|tir.Not(tir.And(b,x<3))"""
fam("logical", LG.split("|"))
fam("constraint", ["x+1<5", "x<10", "x<9", "x>=0", "tmin(x,10)", "tmax(x,10)", "fld(x,10)", "tir.Not(x<10)", "10<=x", "tir.And(x<10,y<3)", "tir.Select(x<10,y,z)", "x!=10", "x.equal(10)", "ite(x<10,y,z)", "x<y", "x+y<20"], NB, ("x<10",))
fam("constraint", ["fld(x,8)", "flm(x,8)", "x<8", "x>=0", "tmin(x,7)", "tmax(x,0)", "x.equal(8)", "fld(x+y*8,8)", "flm(x+y*8,8)", "x*4+3<32"], NB, ("0<=x", "x<8"))
fam("constraint", ["flm(x,4)", "flm(x+3,4)", "fld(x,4)*4", "flm(x,8)", "flm(x*2,8)", "x.equal(1)", "x!=3", "flm(x,2)", "flm(x+y*4,4)"], NB, ("flm(x,4).equal(0)",))
fam("constraint", ["x<y", "y<=x", "x<=y", "x!=y", "x.equal(y)", "tmin(x,y)", "tmax(x,y)", "x-y<0", "x<y+1", "x+1<=y", "x+1<y", "y>x", "x<z", "tir.Select(x<y,1,2)"], NB, ("x<y",))
fam("constraint", ["x<z", "x<=z", "z<x", "x<y", "x+1<z"], NB, ("x<y", "y<z"))
fam("constraint", ["x+3", "x.equal(5)", "x<6", "y<x", "x*y", "x!=5", "tmin(x,y)"], NB, ("x.equal(5)",))
fam("constraint", ["b", "tir.Not(b)", "tir.And(b,x<1)", "tir.Or(b,x<1)", "tir.Select(b,x,y)", "ite(b,x,y)"], NB, ("b",))
fam("constraint", ["b", "tir.Not(b)", "tir.And(b,x<1)", "tir.Or(b,x<1)", "tir.Select(b,x,y)"], NB, ("tir.Not(b)",))
fam("constraint", ["x<5", "y<5", "x<6", "tir.And(x<5,y<5)", "tir.Or(x<5,y<5)", "x>=5"], NB, ("tir.And(x<5,y<5)",))
fam("constraint", ["x<5", "x>=5", "y<3", "y>=3", "tir.Or(x<5,y<3)"], NB, ("tir.Not(tir.Or(x<5,y<3))",))
fam("constraint", ["x", "x+y", "x.equal(y)", "x<y", "x-y", "fld(x,4)"], NB, ("x.equal(y)",))
fam("constraint", ["x.equal(y)", "x!=y", "x<y", "x<=y"], NB, ("x!=y",))
fam("cast", """tir.Cast('int64',x)|tir.Cast('int32',x)|tir.Cast('int64',tir.IntImm('int32',3))|tir.Cast('float32',tir.IntImm('int32',3))|tir.Cast('int64',x+1)+1|tir.Cast('int32',tir.Cast('int64',x))|tir.Cast('bool',x<3)|tir.Cast('int32',b)|tir.Cast('int64',x+y*2)|tir.Cast('int64',x)*2+tir.Cast('int64',x)|tir.Cast('int32',tir.const(True))|tir.Cast('float32',x)+tir.Cast('float32',x)|tir.Cast('int8',x+y)|tir.Cast('int64',fld(x,4))""".replace("\n", "|").split("|"))
fam("cast", "tir.Cast('int64',x+1)+1|tir.Cast('int64',x*8+y)//8|tir.Cast('int64',x+y)-tir.Cast('int64',y)|tir.Cast('int64',x)<16|tir.Cast('int64',fld(x,4)*4+flm(x,4))|tir.Cast('int64',x*4)+tir.Cast('int64',x*4)".split("|"), S)
fam("let", "tir.Let(v,tir.const(3,'int32'),v+x)|tir.Let(v,x,v+x)|tir.Let(v,x+1,v+x)|tir.Let(v,x+y-x,v*2+v)|tir.Let(v,tir.const(3,'int32')+x,v)|tir.Let(v,y,v-y+1)|tir.Let(v,x*2,flm(v,2))".split("|"))
fam("bits", "x<<1|x>>1|tir.const(3,'int32')<<2|tir.shift_right(tir.const(12,'int32'),tir.const(2,'int32'))|(x&7)|(x^x)|tir.clz(tir.const(1,'int32'))|tir.clz(tir.const(0,'int32'))|tir.clz(tir.const(256,'int64'))|tir.clz(x)|(x&3)<4|(x&3)<3|(x+x)&7|(x<<3)+(x<<3)|(x>>1)<5|(x+0)|(x*2)>>1".split("|"))
fam("ite", "ite(x<10,ite(y<3,z,0),0)|ite(x<10,ite(y<3,z,1),0)|ite(x<10,x+1-1,y)|ite(x<10,tmin(x,10),y)|ite(tir.const(True),x,y)|ite(tir.const(False),x,y)|ite(x<10,ite(x<20,y,z),0)|ite(x<10,y,ite(x>=10,z,y))|ite(x<10,x,x)|ite(x*2<10,1.0,0.0)|tir.likely(x<10)|tir.likely(tir.const(True))|ite(tir.likely(x<10),y+z-z,z)|tir.Select(tir.likely(x*2<10),y,z)|ite(x<10,ite(y<3,1.0,0.0),0.0)|ite(x>=0,ite(x<4,1.0,2.0),2.0)".split("|"))
fam("ite", "ite(x<16,y,z)|ite(x<0,y,z)|ite(x<8,fld(x,8),flm(x,8))|ite(x>=8,fld(x,8),x)|ite(x<8,y,ite(x<16,z,0))|ite(tir.all(x>=4,x<8),fld(x-4,4),1)".split("|"), S)
fam("float", "f+0.0|f*1.0|f*0.0|f-f|f/2.0|f+g-g|(f+g)-f|f-(g+f)|f.equal(f)|f!=f|f<f|tmin(f,f)|tmax(f,g)|f/f|2.0*f|f-(f+g)|tir.floor(f)|tir.ceil(tir.const(1.5,'float32'))|tir.ceil(tir.const(3,'int32'))|tir.ceil(tir.log2(tir.const(14,'float64')))|tir.infinity('float32')|tir.Select(x<1,f,f)|f+1.0+2.0|tir.exp(f+0.0)|tir.Cast('float32',x+y-y)|tir.if_then_else(x+0<3,f,g)|tir.min(f,tir.infinity('float32'))|-f+f|f*2.0/2.0".split("|"))
fam("uint", "u+u|u*1|u-u|u+1-1|fld(u,4)*4+flm(u,4)|tmin(u,u)|u<u|fld(u*4,4)|u8+u8|u8*2//2|u8-u8|h+h|fld(h*4,4)|h<h+1".split("|"))
fam("int64", "X*4//4|X+Y-X|fld(X*8+Y,8)|flm(X*8+Y,8)|tmin(X,Y)+1|X<X+1|X*2<6|X+1<=Y|X-Y<0|(X+3)//4*4|X*4+2<18|X.equal(X)|X+1-1|X*Y+X|tmax(X*2,X*2+2)|X//4*4+X%4".split("|"))

rng = random.Random(7)


def rnd(depth):
    if depth == 0 or rng.random() < .1:
        return rng.choice("xyz") if rng.random() < .8 else str(rng.randint(1, 9))
    k = rng.randrange(10)
    a = rnd(depth - 1)
    c = rng.choice([2, 3, 4, 8, 16])
    if k < 3: return f"({a}+{rnd(depth-1)})"
    if k == 3: return f"({a}-{rnd(depth-1)})"
    if k < 6: return f"({a}*{c})"
    if k < 8: return f"fld({a},{c})"
    if k == 8: return f"flm({a},{c})"
    return f"{rng.choice(['tmin','tmax'])}({a},{rnd(depth-1)})"


fam("random", [rnd(3) for _ in range(120)])
fam("random bounded", [rnd(3) for _ in range(120)], S)
fam("random condition", [f"{rnd(2)}{rng.choice(['<','<=','>','>='])}{rnd(2)}" for _ in range(90)])
fam("random condition bounded", [f"{rnd(2)}{rng.choice(['<','<=','>','>='])}{rnd(1)}" for _ in range(90)], S)
