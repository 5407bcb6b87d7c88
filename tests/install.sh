#!/usr/bin/env bash
# `pip install .` into a new environment puts the program, the recorder and the clients' files where users of PyTorch expect them.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$PWD/build/python
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
# The names that CMake finds by itself: the objects of the release build are then found in the compiler cache.
export CC=cc CXX=c++
"$python/bin/python" -m venv "$place/env"
"$python/bin/python" -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps -w "$place" . 2>&1 | grep -v '^WARNING: Location' || true
"$place/env/bin/pip" install -q --disable-pip-version-check --no-index --no-deps "$place"/hotlens-*.whl
"$place/env/bin/hotlens" --version
"$place/env/bin/python" -c 'import hotlens'
test -e "$place/env/share/hotlens/neovim/plugin/hotlens.lua"
test -e "$place/env/share/hotlens/vscode/hotlens.vsix"
test -e "$place/env/share/hotlens/timeline/index.html"
# The installed program profiles with an interpreter that has never heard of it.
cp -r examples/resnet_digits "$place/work dir ü"
cd "$place/work dir ü"
"$place/env/bin/hotlens" run --python "$python/bin/python" --steps 2 train.py >"$place/out.txt"
"$place/env/bin/hotlens" check blocks.py | grep -q ' ms'
echo "1 passed, 0 failed"
