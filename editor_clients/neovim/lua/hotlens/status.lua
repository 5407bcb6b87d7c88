-- A component for the status line: the step's time of the shown profile, or that a run is in progress.
local M = {}

local states = {} ---@type table<integer, { running: boolean, chosen?: string, profile?: { step: string } }>  by client
local latest ---@type integer?

--- hotlens/profileChanged.
function M.changed(state, client)
  states[client], latest = state, client
  vim.cmd.redrawstatus({ bang = true })
end

--- `51.4 ms/step`, `profiling`; empty where nothing is known. A per cent sign would mean something to the status line: there is none.
---@return string
function M.line()
  local attached = vim.lsp.get_clients({ name = 'hotlens', bufnr = 0 })[1] -- each root has its own
  local state = states[attached and attached.id or latest]
  if not state then return '' end
  if state.running then return 'profiling' end
  if not state.profile then return '' end
  return state.profile.step .. '/step' .. (state.chosen and ' (older profile)' or '')
end

return M
