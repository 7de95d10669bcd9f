"""Errors, under the place where TVM's programs look for them."""
from lathe.error import TVMError
