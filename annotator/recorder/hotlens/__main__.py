"""Entry point, both as `python /path/to/hotlens/__main__.py` and as `python -m hotlens`.

Run by path, the interpreter need not know this package: it is loaded under a private name, so that a `hotlens` of the
user's is not shadowed.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from types import ModuleType

PRIVATE_NAME = "_hotlens_recorder"


def load_package() -> ModuleType:
    """This package, imported from the folder of this file under PRIVATE_NAME."""
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(PRIVATE_NAME, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[PRIVATE_NAME] = package
    spec.loader.exec_module(package)
    return package


if __name__ == "__main__":
    load_package()
    cli = importlib.import_module(f"{PRIVATE_NAME}.cli")
    cli.main(sys.argv[1:])
