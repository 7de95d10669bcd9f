"""Systems of equations and inequalities of integers."""
from lathe.arith import IntConstraints, IntConstraintsTransform, IntGroupBounds, solve_linear_equations, solve_linear_inequalities
