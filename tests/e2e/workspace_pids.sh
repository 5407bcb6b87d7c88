#!/usr/bin/env bash
# workspace_pids.sh WORKSPACE VERB: the processes with the argument VERB ("record", "lsp") that work on this workspace, one id a line.
set -euo pipefail
workspace=$1 verb=$2
for proc in /proc/[0-9]*; do
  [ "${proc#/proc/}" != "$$" ] || continue
  mapfile -d '' -t words 2>/dev/null <"$proc/cmdline" || continue
  said=" ${words[*]-} "
  [[ $said == *" $verb "* ]] || continue
  if [[ $said == *"$workspace"* || $(readlink "$proc/cwd" || true) == "$workspace" ]]; then echo "${proc#/proc/}"; fi
done 2>/dev/null
