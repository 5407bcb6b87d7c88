-- The lines below the levels of the text view. Pure.
local M = {}

local text = require('hotlens.timeline_text')
local walk = require('hotlens.timeline_walk')

local HELP = 'Enter open · Backspace up · h l block · j k track · + - f zoom · [ ] step · u unfold · / n N search · gd line · q close'

local function details_lines(details)
  local lines = {}
  local times = details.times or {}
  local known = {}
  for _, each in ipairs({ { 'CPU', times.cpuTotal }, { 'device', times.device }, { 'waiting', times.waiting }, { 'device idle before', times.idleBefore } }) do
    if each[2] and each[2] > 0 then table.insert(known, ('%s %s'):format(each[1], text.time(each[2]))) end
  end
  if #known > 0 then table.insert(lines, '  ' .. table.concat(known, ' · ')) end
  local verdict = details.verdict
  if verdict then
    local evidence = vim.tbl_map(function(each) return each.what end, verdict.evidence or {})
    table.insert(lines, '  ' .. verdict.kind:gsub('_', ' ') .. (#evidence > 0 and ': ' .. table.concat(evidence, ', ') or ''))
  end
  for index, kernel in ipairs(details.kernels or {}) do
    if index > 4 then break end
    table.insert(lines, ('  %s  %s ×%d'):format(text.time(kernel.time), kernel.short, kernel.calls))
  end
  for _, place in ipairs(details.places or {}) do
    table.insert(lines, ('  %s:%d %s'):format(vim.fn.fnamemodify(place.file, ':~:.'), place.line + 1, place.what))
  end
  return lines
end

--- What the text view says below its levels: the block under the cursor, a note, the keys.
---@param state hotlens.TimelineState
---@return string[]
function M.lines(state)
  local lines = {}
  local block, track = walk.block_at(state.levels, state.cursor)
  if block then
    local step = state.levels[1].block.duration
    local share = step > 0 and ' · ' .. text.of_step(block.duration / step) or ''
    table.insert(lines, ('▸ %s · %s · %s%s · %s'):format(text.name(block), block.kind, text.time(block.duration), share, track.name))
    if state.details then vim.list_extend(lines, details_lines(state.details)) end
  elseif state.overview and state.overview.verdict then
    table.insert(lines, ('▸ %s'):format(state.overview.verdict.kind:gsub('_', ' ')))
  end
  if state.note then table.insert(lines, state.note) end
  table.insert(lines, HELP)
  return lines
end

return M
