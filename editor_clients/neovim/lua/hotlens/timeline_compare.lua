-- Two steps of one profile beside each other, as lines: what became faster or slower, beyond the noise of the steps.
local M = {}

local words = require('hotlens.timeline_words')

local MOST = 8 -- changes
local SIGNS = { faster = '▼', slower = '▲', added = '+', removed = '-' }

--- What a step is compared with: the usual one, and that one with the slowest; nothing where there is but one.
---@return integer?
function M.other(overview, step)
  local usual = overview.representative
  if step ~= usual then return usual end
  local slowest
  for position, each in ipairs(overview.steps) do
    if position - 1 ~= usual and (not slowest or each.wall > overview.steps[slowest + 1].wall) then slowest = position - 1 end
  end
  return slowest
end

local function by(before, after)
  local share = before > 0 and (' (%s)'):format(words.signed_percent((after - before) / before)) or ''
  return words.signed_time(after - before) .. share
end

local function name_of(row)
  if row.label then return row.kind == 'stage' and (row.label:gsub('_', ' ')) or row.label end
  return row.module ~= '' and row.module or row.class or 'model'
end

local function weight(row) return math.abs((row.after or 0) - (row.before or 0)) end

local function line(row)
  local before, after = row.before or 0, row.after or 0
  return ('  %s %s  %s: %s → %s'):format(SIGNS[row.change] or '', by(before, after), name_of(row), words.time(before), words.time(after))
end

--- The lines that say how two steps differ.
---@param answer table  to "compare"
---@param before any  the steps by the script's count
---@param after any
---@return string[]
function M.lines(answer, before, after)
  local wall = { answer.before.stepNs or 0, answer.after.stepNs or 0 }
  local lines =
    { ('step %s against step %s: %s → %s, %s'):format(after, before, words.time(wall[1]), words.time(wall[2]), by(wall[1], wall[2])) }
  local changed = vim.tbl_filter(function(row) return row.change ~= 'same' end, answer.rows)
  table.sort(
    changed,
    function(a, b) return weight(a) ~= weight(b) and weight(a) > weight(b) or weight(a) == weight(b) and name_of(a) < name_of(b) end
  )
  for index = 1, math.min(MOST, #changed) do
    table.insert(lines, line(changed[index]))
  end
  if #changed > MOST then table.insert(lines, ('  %d more differ'):format(#changed - MOST)) end
  local rest = #answer.rows - #changed
  if rest > 0 then
    table.insert(
      lines,
      ('  %s within the noise of the steps'):format(#changed == 0 and 'all is' or rest == 1 and '1 other is' or rest .. ' others are')
    )
  end
  return lines
end

---@param request fun(method: string, params: table, done: fun(answer: table))
---@param state hotlens.TimelineState
---@param done fun(lines: string[])
---@param say fun(note: string)
function M.compare(request, state, done, say)
  if state.recording then return say('Two steps are compared from one of them: open it first.') end
  local other = state.overview and M.other(state.overview, state.step)
  if not other then return say('This profile has one step: there is none to compare it with.') end
  local function index(step) return state.overview.steps[step + 1].index end
  local step = state.step
  request('compare', { before = state.profile, beforeStep = other, afterStep = step }, function(answer)
    if state.step == step then done(M.lines(answer, index(other), index(step))) end
  end)
end

return M
