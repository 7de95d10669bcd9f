"""Temporary folders."""
import os
import shutil
import tempfile


class TempDirectory:
    """A folder that goes with the object; as a `with` it goes at its end."""

    def __init__(self, custom_path=None, keep_for_debug=False):
        self.temp_dir = custom_path or tempfile.mkdtemp(prefix="lathe-")
        os.makedirs(self.temp_dir, exist_ok=True)
        self._keeps = keep_for_debug

    path = property(lambda self: self.temp_dir)

    def remove(self):
        if self.temp_dir and not self._keeps:
            shutil.rmtree(self.temp_dir, ignore_errors=True)
        self.temp_dir = None

    def relpath(self, name):
        """The path of `name` in the folder."""
        return os.path.join(self.temp_dir, name)

    def listdir(self):
        return os.listdir(self.temp_dir)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()

    def __del__(self):
        self.remove()


def tempdir(custom_path=None, keep_for_debug=False):
    return TempDirectory(custom_path, keep_for_debug)
