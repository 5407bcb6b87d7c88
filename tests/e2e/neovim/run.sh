#!/usr/bin/env bash
# run.sh BIN_DIR NVIM [SHOTS_DIR]: the scenarios in a headless Neovim each, then the screen of a terminal Neovim under tmux.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
bin=$1 nvim=$2 shots=${3:-}
scenarios=$here/../scenarios.json
scratch=$(mktemp -d)
folder="$scratch/work ü/digits" # paths with a space and a letter outside ASCII must work
workspace() { node "$here/../workspace.mjs" "$@"; }

workspace record "$bin/hotlens" "$root/examples/resnet_digits" "$folder" "$scratch/profiles"

# PATH without the folders in which somebody has a hotlens of their own.
without_hotlens() {
  tr ':' '\n' <<<"$PATH" | while read -r each; do [ -x "$each/hotlens" ] || printf '%s:' "$each"; done
}

passed=0 failed=0
# play ID: one scenario; what Neovim said and how it ended follow a failure.
play() {
  local id=$1 path=$bin:$PATH test code=0
  workspace prepare "$id" "$root/examples/resnet_digits" "$folder" "$scratch/profiles"
  [ "$(workspace needs-server "$id")" = true ] || path=$(without_hotlens)
  test="#{scenarios: '$scenarios', id: '$id', workspace: '$folder'}"
  (cd "$folder" && PATH=$path HOTLENS_TEST_SCREENS=$shots XDG_STATE_HOME="$scratch/state" XDG_DATA_HOME="$scratch/data" \
    XDG_CONFIG_HOME="$scratch/config" timeout 300 "$nvim" --headless -n -i NONE -u NONE --cmd "set rtp+=$root/editor_clients/neovim" \
    --cmd "let g:hotlens_test = $test" -S "$here/scenario.lua" 2>"$scratch/stderr") || code=$?
  [ "$code" = 0 ] && return
  sed 's/^/      /' "$scratch/stderr"
  printf '\n      Neovim exited with code %s\n' "$code"
  return 1
}

for id in ${SCENARIOS:-$(workspace ids neovim)}; do
  if play "$id"; then
    passed=$((passed + 1))
  elif [ "$failed" -lt 3 ] && echo "again neovim  $id" && play "$id"; then # see second_try.mjs
    passed=$((passed + 1))
    echo "neovim  $id" >>"${HOTLENS_SECOND_TRY:-/dev/null}"
  else
    failed=$((failed + 1))
  fi
done
if [ -z "${SCENARIOS:-}" ]; then
  if "$nvim" --headless -n -i NONE -u NONE -l "$here/find_server.lua" "$root/editor_clients/neovim"; then
    echo "ok    neovim  find_server: the newest program that a VS Code extension carries is found"
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
  workspace prepare hints "$root/examples/resnet_digits" "$folder" "$scratch/profiles"
  said=$("$here/screen.sh" "$bin" "$nvim" "$folder" "$shots") || true
  printf '%s\n' "$said" | sed '$d'
  passed=$((passed + $(tail -n 1 <<<"$said" | cut -d ' ' -f 1)))
  failed=$((failed + $(tail -n 1 <<<"$said" | cut -d ' ' -f 3)))
fi
echo "$passed passed, $failed failed"
if [ "$failed" = 0 ]; then rm -rf "$scratch"; else echo "kept: $scratch"; exit 1; fi
