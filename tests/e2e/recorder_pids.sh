#!/usr/bin/env bash
# recorder_pids.sh WORKSPACE: the processes that record a profile of this workspace, one id a line.
set -euo pipefail
workspace=$1
for proc in /proc/[0-9]*; do
  [ "${proc#/proc/}" = "$$" ] && continue
  mapfile -d '' -t words <"$proc/cmdline" 2>/dev/null || continue
  joined=" ${words[*]-} "
  [[ $joined == *" record "* ]] || continue
  if [[ $joined == *"$workspace"* || $(readlink "$proc/cwd" 2>/dev/null || true) == "$workspace" ]]; then echo "${proc#/proc/}"; fi
done
