#!/usr/bin/env bash
# From a fresh checkout to hints: installs what is missing, builds and installs Hotlens into build/python, profiles examples/resnet_digits,
# prints the model file as an editor shows it and the summary, and says how to open it in VS Code and Neovim.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tests/setup.sh build
python=$PWD/build/python
# Objects that the tests have built already are found in the compiler cache.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CC=cc CXX=c++
"$python/bin/python" -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps . 2>&1 | grep -v '^WARNING: Location' >&2 || true
cd examples/resnet_digits
"$python/bin/hotlens" run --python "$python/bin/python" train.py
"$python/bin/hotlens" check model.py blocks.py train.py
cat <<TEXT

Open it in an editor:
  VS Code   code --install-extension $python/share/hotlens/vscode/hotlens.vsix && code $PWD
  Neovim    nvim --cmd 'set rtp+=$python/share/hotlens/neovim' $PWD/model.py
TEXT
