#!/usr/bin/env bash
# run.sh BIN_DIR EDITORS_DIR [SHOTS_DIR]: the scenarios of scenarios.json in the real Neovim and the real VS Code.
# BIN_DIR holds the hotlens program, EDITORS_DIR is what install_editors.sh made, SHOTS_DIR receives what was on the screens.
# HOTLENS_TEST_PYTHON is a Python with torch and scikit-learn (default: python3). ONLY="neovim" or "vscode" runs one editor.
# SCENARIOS="id id" runs some scenarios.
set -euo pipefail

[ $# -ge 2 ] || { echo "usage: run.sh BIN_DIR EDITORS_DIR [SHOTS_DIR]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=$(cd "$1" && pwd)
editors=$(cd "$2" && pwd)
shots=${3:-}
if [ -n "$shots" ]; then mkdir -p "$shots"; shots=$(cd "$shots" && pwd); fi
HOTLENS_TEST_PYTHON=${HOTLENS_TEST_PYTHON:-$(command -v python3)}
export HOTLENS_TEST_PYTHON
unset HOTLENS_SERVER VIRTUAL_ENV # of the shell that started the tests

[ -x "$bin/hotlens" ] || { echo "run.sh: no hotlens program in $bin; build it first" >&2; exit 2; }
"$HOTLENS_TEST_PYTHON" -c 'import torch, sklearn' || { echo "run.sh: HOTLENS_TEST_PYTHON must have torch and scikit-learn" >&2; exit 2; }

passed=0 failed=0
# count COMMAND…: runs it, shows what it says, adds its "N passed, N failed".
count() {
  local said line
  said=$(mktemp)
  "$@" 2>&1 | tee "$said" || true
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$said" | tail -n 1 || true)
  rm -f "$said"
  [ -n "$line" ] || { echo "FAIL  $1 ended without a result"; failed=$((failed + 1)); return; }
  passed=$((passed + $(cut -d ' ' -f 1 <<<"$line")))
  failed=$((failed + $(cut -d ' ' -f 3 <<<"$line")))
}

packages() { [ -d "$1/node_modules" ] || (cd "$1" && npm ci --ignore-scripts --silent); }

build_extension() {
  packages "$root/editor_clients/timeline" && (cd "$root/editor_clients/timeline" && npm run --silent build) &&
    packages "$root/editor_clients/vscode" && cd "$root/editor_clients/vscode" && npm test --silent && npm run --silent package
}

vscode() {
  packages "$here/vscode"
  if ! (build_extension) >/dev/null 2>&1; then
    echo "FAIL  the extension is not built: try npm test and npm run package in editor_clients/vscode"
    echo "0 passed, 1 failed"
    return
  fi
  # shellcheck disable=SC2086
  node "$here/vscode/run.mjs" "$editors/code-server/bin/code-server" "$root/editor_clients/vscode/dist/hotlens.vsix" "$bin" \
    "$root/examples/resnet_digits" "$shots" ${SCENARIOS:-}
}

case ${ONLY:-both} in neovim | both) count "$here/neovim/run.sh" "$bin" "$editors/neovim/bin/nvim" "$shots" ;; esac
case ${ONLY:-both} in vscode | both) count vscode ;; esac
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
