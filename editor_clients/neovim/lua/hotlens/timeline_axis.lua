-- Time to cells and back. A device may run far behind its host: a level would then be mostly the time between the two. Such a gap, in which
-- nothing of the level happens on any track, is drawn at a fixed width and the axis says how long it is. Pure.
local M = {}

M.GAP_CELLS = 10 -- room for its time
local LEAST_GAP = 0.3 -- of the window: shorter gaps are drawn as long as they are

---@class hotlens.Window  what the width of a level stands for: [1] and [2] in ns
---@field [1] number
---@field [2] number
---@field gap? { [1]: number, [2]: number }  the part of it that is drawn GAP_CELLS wide

-- The longest time of the window in which nothing of the level happens. Idle time of a host track is the level's own; that of a device is not.
local function gap_of(level)
  local busy = {}
  for _, track in ipairs(level.tracks) do
    local blocks = track.blocks
    for index, start in ipairs(blocks.start) do
      local idle = blocks.kinds[blocks.kind[index] + 1] == 'idle' and track.kind ~= 'host'
      if not idle then table.insert(busy, { start, start + blocks.duration[index] }) end
    end
  end
  table.sort(busy, function(a, b) return a[1] < b[1] end)
  local gap, reached = nil, level.window[1]
  local longest = LEAST_GAP * (level.window[2] - level.window[1])
  for _, span in ipairs(busy) do
    if span[1] - reached > longest then
      gap, longest = { reached, span[1] }, span[1] - reached
    end
    reached = math.max(reached, span[2])
  end
  return gap
end

--- The window of a level as it is drawn on `width` cells: with the gap that is shortened, if there is one.
---@return hotlens.Window
function M.window(level, width)
  local from, to = level.window[1], level.window[2]
  local gap = gap_of(level)
  local short = gap and width > 2 * M.GAP_CELLS and (gap[2] - gap[1]) / (to - from) * width > M.GAP_CELLS
  return { from, to, gap = short and gap or nil }
end

--- Time that a cell outside the gap stands for.
---@param window hotlens.Window
function M.per_cell(window, width)
  local gap = window.gap
  if not gap then return math.max(1, window[2] - window[1]) / width end
  return (window[2] - window[1] - (gap[2] - gap[1])) / (width - M.GAP_CELLS)
end

--- Cells from the left edge, with fractions.
---@param window hotlens.Window
function M.position(at, window, width)
  local gap, each = window.gap, M.per_cell(window, width)
  if not gap or at <= gap[1] then return (at - window[1]) / each end
  if at >= gap[2] then return width - (window[2] - at) / each end
  return (gap[1] - window[1]) / each + (at - gap[1]) / (gap[2] - gap[1]) * M.GAP_CELLS
end

--- The time at a cell's left edge.
---@param window hotlens.Window
function M.time_at(cell, window, width)
  local gap, each = window.gap, M.per_cell(window, width)
  local first = gap and (gap[1] - window[1]) / each
  if not gap or cell <= first then return window[1] + cell * each end
  if cell >= first + M.GAP_CELLS then return window[2] - (width - cell) * each end
  return gap[1] + (cell - first) / M.GAP_CELLS * (gap[2] - gap[1])
end

--- As many cells as the window would need without a gap to be as fine.
---@param window hotlens.Window
function M.fine_width(window, width) return math.ceil((window[2] - window[1]) / M.per_cell(window, width)) end

return M
