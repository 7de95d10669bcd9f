"""Walking and rewriting statements and expressions."""
from lathe import _lib
from lathe.tir.stmt import Evaluate, Stmt


def post_order_visit(stmt, fvisit):
    """Calls fvisit for every node, children first."""
    _lib.post_order_visit(stmt, fvisit)


def pre_order_visit(stmt, fvisit):
    """Calls fvisit for nodes before their children, which are passed over where it returns False."""
    is_within = isinstance(stmt, Stmt)  # What is around an expression, so that it can be walked, is not shown.

    def visit(node):
        nonlocal is_within
        descends, is_within = not is_within or fvisit(node), True
        return None if descends else node

    _lib.ir_transform(stmt if is_within else Evaluate(stmt), visit, None, None)


def ir_transform(stmt, preorder, postorder, only_enable=None):
    """Rewrites: what preorder returns replaces a node; postorder sees the node after its children. None keeps it.
    only_enable: names of the kinds that the functions are asked about, such as "tir.For"."""
    return _lib.ir_transform(stmt, preorder, postorder, only_enable)


def substitute(node, vmap):
    """Replaces variables."""
    return _lib.substitute(node, vmap)


def renew_defs(func):
    """A copy of the function in which every variable and buffer is new."""
    return _lib.clone_func(func)
