-- The lines below the levels of the text view. Pure.
local M = {}

local text = require('hotlens.timeline_text')
local walk = require('hotlens.timeline_walk')
local words = require('hotlens.timeline_words')

local HELP = {
  'Enter open · Backspace up · h l block · j k track · 0 $ ends · + - z f zoom · a d pan · [ ] step · o recording',
  'r add up what is seen · p save it for Perfetto · c compare steps · u unfold · / n N search · gd line · q close',
}

local function details_lines(details)
  local lines = {}
  local times = details.times or {}
  local known = {}
  for _, each in ipairs({
    { 'CPU', times.cpuTotal },
    { 'device', times.device },
    { 'waiting', times.waiting },
    { 'device idle before', times.idleBefore },
  }) do
    if each[2] and each[2] > 0 then table.insert(known, ('%s %s'):format(each[1], words.time(each[2]))) end
  end
  if #known > 0 then table.insert(lines, '  ' .. table.concat(known, ' · ')) end
  local verdict = details.verdict
  if verdict then
    local evidence = vim.tbl_map(function(each) return each.what end, verdict.evidence or {})
    table.insert(lines, '  ' .. verdict.kind:gsub('_', ' ') .. (#evidence > 0 and ': ' .. table.concat(evidence, ', ') or ''))
  end
  for index, kernel in ipairs(details.kernels or {}) do
    if index > 4 then break end
    table.insert(lines, ('  %s  %s ×%d'):format(words.time(kernel.time), kernel.short, kernel.calls))
  end
  for _, place in ipairs(details.places or {}) do
    table.insert(lines, ('  %s:%d %s'):format(vim.fn.fnamemodify(place.file, ':~:.'), place.line + 1, place.what))
  end
  return lines
end

-- "memory at most 6.60 MB, in backward of layer2.0: 1.20 MB of it here"
local function memory_line(overview, details)
  local at = overview.memoryPeakAt
  if not overview.memoryPeak or not at then return nil end
  local where = at.module and at.module ~= '' and ' of ' .. at.module or ''
  local here = details and details.memory and details.memory.atPeak
  local part = here and (': %s of it here'):format(words.bytes(here)) or ''
  return ('  memory at most %s, in %s%s%s'):format(words.bytes(overview.memoryPeak), at.stage:gsub('_', ' '), where, part)
end

-- What shares are of: the step's wall time, as on the page, or the whole recording.
local function whole_of(state)
  local step = not state.recording and state.overview and state.overview.steps[(state.step or 0) + 1]
  return step and step.wall or state.levels[1].block.duration
end

--- What the text view says below its levels: the block under the cursor, a note, the keys.
---@param state hotlens.TimelineState
---@return string[]
function M.lines(state)
  local lines = {}
  local block, track = walk.block_at(state.levels, state.cursor)
  if block then
    local whole = whole_of(state)
    local share = whole > 0 and ' · ' .. words.part_of(block.busy / whole, state.recording and 'recording' or 'step') or ''
    table.insert(lines, ('▸ %s · %s · %s%s · %s'):format(text.name(block), block.kind, text.busy(block), share, track.name))
    if state.details then vim.list_extend(lines, details_lines(state.details)) end
  elseif state.overview and state.overview.verdict then
    table.insert(lines, ('▸ %s'):format(state.overview.verdict.kind:gsub('_', ' ')))
  end
  table.insert(lines, state.overview and memory_line(state.overview, state.details) or nil)
  vim.list_extend(lines, state.told or {})
  if state.note then table.insert(lines, state.note) end
  return vim.list_extend(lines, HELP)
end

return M
