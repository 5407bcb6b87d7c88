#!/usr/bin/env bash
# run.sh HOTLENS NVIM [SHOTS_DIR] [NAME…]: the timeline: the page's pure parts, Neovim's text view, then the page in Chromium on the real
# server. HOTLENS_TRACES holds the shared traces; without them the scenarios run on those in HOTLENS_OWN_TRACES, and what cannot is counted.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
hotlens=$(realpath "$1") nvim=$(realpath "$2")
shift 2

packages() { [ -d "$1/node_modules" ] || (cd "$1" && npm ci --ignore-scripts --silent); }

packages "$root/editor_clients/timeline"
packages "$here/../vscode"
(cd "$root/editor_clients/timeline" && npm run --silent check && npm test --silent)
"$nvim" --headless -n -i NONE -u NONE -l "$here/text_view.lua" "$root/editor_clients/neovim" "$hotlens"
node "$here/run.mjs" "$hotlens" "$@"
