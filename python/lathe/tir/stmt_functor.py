"""Walking and rewriting statements and expressions."""
from lathe import _lib


def post_order_visit(stmt, fvisit):
    """Calls fvisit for every node once, children first."""
    _lib.post_order_visit(stmt, fvisit)


def pre_order_visit(stmt, fvisit):
    """Calls fvisit once for nodes before their children, which are passed over where it returns False."""
    _lib.pre_order_visit(stmt, fvisit)


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
