#!/usr/bin/env bash
# screen.sh BIN_DIR NVIM WORKSPACE [SHOTS_DIR]: Neovim in a terminal of 130x40, as a person starts it: the plugin on the runtime path and
# nothing else. WORKSPACE has a profile. What the terminal shows is read through tmux.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
plugin=$(cd "$here/../../../editor_clients/neovim" && pwd)
bin=$1 nvim=$2 workspace=$3 shots=${4:-}
scratch=$(mktemp -d)
[ -n "$shots" ] || shots=$scratch

cat >"$scratch/init.lua" <<LUA
vim.opt.rtp:append('$plugin')
vim.g.loaded_python3_provider = 0
vim.g.hotlens = { python = vim.env.HOTLENS_TEST_PYTHON }
vim.o.wrap = false
LUA

export LC_ALL=C.UTF-8 TERM=xterm-256color COLORTERM=truecolor
export XDG_STATE_HOME=$scratch/state XDG_DATA_HOME=$scratch/data XDG_CONFIG_HOME=$scratch/config PATH=$bin:$PATH
terminal() { tmux -L "hotlens-$$" -f /dev/null "$@"; } # a tmux of our own
end() { terminal kill-server 2>/dev/null || true; rm -rf "$scratch"; }
trap end EXIT

passed=0 failed=0
# see NAME SECONDS TEXT: waits until the screen shows the text.
see() {
  local _
  for _ in $(seq $(($2 * 10))); do
    if terminal capture-pane -p | grep -qF -- "$3"; then
      terminal capture-pane -p >"$shots/terminal-$1.txt"
      terminal capture-pane -ep >"$shots/terminal-$1.ansi"
      echo "ok    terminal  $1"
      passed=$((passed + 1))
      return
    fi
    sleep 0.1
  done
  echo "FAIL  terminal  $1: the screen does not show \"$3\":"
  terminal capture-pane -p | sed '/^$/d; s/^/      /'
  failed=$((failed + 1))
}
press() { terminal send-keys "$@"; }

cd "$workspace"
terminal -u new-session -d -x 130 -y 40 "'$nvim' -n -i NONE -u '$scratch/init.lua' blocks.py"
terminal set -s escape-time 0
see hints 20 " ms "
see lens 20 "s/step"
press '/self.conv1 = ' Enter
press 'fc' K
see hover 10 "backward"
press Escape j
press ':Hotlens profile' Enter
see progress 20 "Profil"
see no-prompt-while-running 5 "blocks.py"
press ':Hotlens cancel' Enter
see cancelled 10 "Cancelled"
press ':checkhealth hotlens' Enter
see health 30 "torch 2"
press ':bdelete' Enter
# A message with more words than the screen is wide does not wait for ENTER, and is not lost.
press ":lua require('hotlens.messages').notify('Hotlens: ' .. ('words '):rep(90) .. 'the end', 3)" Enter
see long-message 5 "words …"
if terminal capture-pane -p | grep -q 'Press ENTER'; then
  echo "FAIL  terminal  a long message waits for ENTER"
  failed=$((failed + 1))
fi
press ':messages' Enter
see whole-message 5 "the end"
press Enter
press ':Hotlens profile' Enter
see progress-again 20 "Profil"
for _ in $(seq 50); do [ -z "$("$here/../workspace_pids.sh" "$workspace" record)" ] || break; sleep 0.1; done
press ':qa!' Enter
for _ in $(seq 50); do terminal has-session 2>/dev/null || break; sleep 0.1; done
if [ -z "$("$here/../workspace_pids.sh" "$workspace" record)$("$here/../workspace_pids.sh" "$workspace" lsp)" ]; then
  echo "ok    terminal  quitting during a run leaves no process"
  passed=$((passed + 1))
else
  echo "FAIL  terminal  quitting during a run leaves a process"
  failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
