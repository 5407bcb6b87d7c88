#!/usr/bin/env bash
# Installs what is missing on Debian 12 or Ubuntu 24.04, then stops: nothing is built here.
#   tests/setup.sh build    packages to build with, and a Python environment with torch (build/python)
#   tests/setup.sh test     the same, the linters, and both editors (build/editors)
# Idempotent. Packages come from apt, PyPI and npm. Set HOTLENS_PYTHON to start from another interpreter than python3.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-build}

say() { printf 'setup: %s\n' "$*" >&2; }

# The first of the names that apt knows: Debian and Ubuntu number some packages differently.
first_known() {
  local name
  for name in "$@"; do
    if apt-cache show "$name" >/dev/null 2>&1; then echo "$name"; return; fi
  done
  say "apt knows none of: $*"; return 1
}

install_packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return
  say "installing ${missing[*]}"
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

as_root=""
[ "$(id -u)" -eq 0 ] || as_root=sudo
build_packages=(cmake ninja-build ccache pkg-config g++ python3-venv libsimdjson-dev zlib1g-dev nlohmann-json3-dev
                libfmt-dev libcli11-dev libtree-sitter-dev)
test_packages=(catch2 clang-19 libclang-rt-19-dev libbenchmark-dev chromium ripgrep libkrb5-dev make tmux git lua-check emacs-nox)
wanted=("${build_packages[@]}")
[ "$what" = test ] && wanted+=("${test_packages[@]}")

if command -v apt-get >/dev/null; then
  if ! dpkg-query -W "${wanted[@]}" 'libboost1.8*-dev' >/dev/null 2>&1; then $as_root apt-get update -qq; fi
  if [ "$what" = test ]; then install_packages "$(first_known elpa-eglot emacs-nox)"; fi # from Emacs 29 on it is in Emacs
  install_packages "$(first_known libboost1.81-dev libboost1.83-dev libboost-dev)" "${wanted[@]}"
else
  say "no apt-get here: install by hand what is missing of ${wanted[*]} and Boost 1.81 headers"
fi

python=build/python
stamp="$python/.installed-$what-$(sha256sum tests/requirements.txt | cut -c1-12)"
if [ ! -e "$stamp" ]; then
  [ -x "$python/bin/python" ] || "${HOTLENS_PYTHON:-python3}" -m venv "$python"
  say "Python packages into $python"
  packages=(torch numpy scikit-learn scikit-build-core)
  [ "$what" = test ] && packages=(-r tests/requirements.txt)
  # torch first: it pins what the others may bring.
  "$python/bin/python" -m pip install -q --disable-pip-version-check -c tests/requirements.txt torch 2>&1 | grep -v '^WARNING: Location' >&2 || true
  "$python/bin/python" -m pip install -q --disable-pip-version-check -c tests/requirements.txt "${packages[@]}" 2>&1 |
    grep -v '^WARNING: Location' >&2 || true
  # Alone: it asks for torchvision, whose package is built for CUDA and breaks lightning and transformers beside a CPU torch.
  [ "$what" = test ] && "$python/bin/python" -m pip install -q --disable-pip-version-check --no-deps fastai==2.8.12 2>&1 |
    grep -v '^WARNING: Location' >&2 || true
  "$python/bin/python" -c 'import torch, sklearn'
  touch "$stamp"
fi

if [ "$what" = test ]; then
  # What first_light.sh installed beside this Python would be found before the build under test.
  [ ! -e "$python/bin/hotlens" ] || "$python/bin/python" -m pip uninstall -q -y --disable-pip-version-check hotlens
  bash tests/e2e/install_editors.sh build/editors
fi
