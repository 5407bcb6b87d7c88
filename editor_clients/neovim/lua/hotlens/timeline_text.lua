-- The timeline as text: levels one below the other, a line per track, blocks as coloured stretches of cells. Pure: data in, lines and
-- highlights out. Every name comes out of a trace and may hold anything; what is drawn has no control characters and one cell per column.
local M = {}

local colours = require('hotlens.timeline_colours')
local time_axis = require('hotlens.timeline_axis')
local words = require('hotlens.timeline_words')

local NAME_WIDTH = 16 -- cells for a track's name
M.NAME_WIDTH = NAME_WIDTH
local MIN_WIDTH = 20
local IDLE, WAIT, EDGE, GAP = '·', '▒', '▏', '┈'

--- The characters of `text` that fit into `room` cells, cut ones end in "…".
---@return string[] cells  a wide character is followed by an empty cell
function M.cells(text, room)
  local cells = {}
  for _, char in ipairs(vim.fn.split(words.clean(text), '\\zs')) do
    local width = vim.api.nvim_strwidth(char)
    if #cells + width > room then
      if room > 0 then
        -- The second half of a wide character goes together with the first.
        if cells[room] == '' then cells[room - 1] = ' ' end
        for index = #cells, room, -1 do
          cells[index] = nil
        end
        while #cells < room - 1 do
          cells[#cells + 1] = ' '
        end
        cells[room] = '…'
      end
      return cells
    end
    if width > 0 then
      cells[#cells + 1] = char
      for _ = 2, width do
        cells[#cells + 1] = ''
      end
    end
  end
  return cells
end

---@class hotlens.Block
---@field label string
---@field kind string
---@field stage string
---@field start number
---@field duration number
---@field count number
---@field busy number  ns; of all its work where it is drawn, without the gaps
---@field whole number  of the block, on all tracks of this kind
---@field waiting number  part of `busy`
---@field segment string
---@field open boolean

--- One block out of the columns of a track (protocol/TIMELINE.md); positions are 0-based there.
---@return hotlens.Block?
function M.block(blocks, index)
  if not blocks.start[index] then return nil end
  return {
    label = blocks.labels[blocks.label[index] + 1] or '',
    kind = blocks.kinds[blocks.kind[index] + 1] or '',
    stage = blocks.stages[blocks.stage[index] + 1] or 'other',
    start = blocks.start[index],
    duration = blocks.duration[index],
    count = blocks.count[index],
    busy = blocks.busy[index],
    whole = blocks.whole[index],
    waiting = blocks.waiting[index],
    segment = blocks.segment[index],
    open = blocks.open[index] == 1,
  }
end

--- "61.7 ms", "12.0 of 61.7 ms" where it is drawn in several places, and how much of it is waiting.
---@param block hotlens.Block
function M.busy(block)
  local told = words.time(block.busy)
  if block.whole > 1.005 * block.busy then told = ('%s of %s'):format(told, words.time(block.whole)) end
  local says = block.kind ~= 'wait' and block.stage ~= 'waiting' and block.waiting > 0.1 * block.busy
  if not says then return told end
  return told .. (block.waiting > 0.995 * block.busy and ', all waiting' or (', %s waiting'):format(words.time(block.waiting)))
end

---@param block hotlens.Block
function M.name(block)
  if block.kind == 'idle' then return 'idle' end
  local label = words.clean(block.label)
  if block.kind == 'merged' then return ('%d blocks, the largest %s'):format(block.count, label) end
  return block.count > 1 and ('%s ×%d'):format(label, block.count) or label
end

--- The first and the last cell (1-based) of a stretch of time, at least one cell wide.
---@param window hotlens.Window
function M.span(block, window, width)
  local first = math.floor(time_axis.position(block.start, window, width) + 0.5) + 1
  local last = math.floor(time_axis.position(block.start + block.duration, window, width) + 0.5)
  first = math.min(math.max(first, 1), width)
  return first, math.min(math.max(last, first), width)
end

-- Communication looks the same at every level, whatever stage it is part of.
local function group_of(block, track)
  if block.kind == 'idle' then return colours.GROUPS.idle end
  if block.kind == 'wait' then return colours.GROUPS.waiting end
  local stage = track.kind == 'communication' and 'communication' or block.stage
  return colours.GROUPS[stage] or colours.GROUPS.other
end

-- The cells of one block: its name and time, as much as fits. Behind them as many cells are filled as it is busy.
local function draw_block(row, block, first, last, group)
  local room = last - first + 1
  local filler = block.kind == 'idle' and IDLE or group == colours.GROUPS.waiting and WAIT or ' '
  local share = block.duration > 0 and math.min(1, block.busy / block.duration) or 1
  for column = first, last do
    local fills = math.floor((column - first + 1) * share + 0.5) > math.floor((column - first) * share + 0.5)
    row.cells[column], row.groups[column] = fills and filler or ' ', (fills or column == first) and group or nil
  end
  if block.kind == 'idle' then return end
  if filler == ' ' then row.cells[first] = EDGE end
  if room < 4 then return end
  local text = M.name(block) .. '  ' .. M.busy(block)
  if vim.api.nvim_strwidth(text) > room - 1 then text = M.name(block) .. '  ' .. words.time(block.busy) end
  if vim.api.nvim_strwidth(text) > room - 1 then text = M.name(block) end
  for offset, cell in ipairs(M.cells(text, room - 1)) do
    row.cells[first + offset], row.groups[first + offset] = cell, group
  end
end

-- Cells and groups as one line and its highlights in bytes.
local function finish(prefix, row)
  local line, marks, at = { prefix }, {}, #prefix
  local group, from
  for column = 1, #row.cells do
    if row.groups[column] ~= group then
      if group then table.insert(marks, { group, from, at }) end
      group, from = row.groups[column], at
    end
    line[#line + 1] = row.cells[column]
    at = at + #row.cells[column]
  end
  if group then table.insert(marks, { group, from, at }) end
  return table.concat(line), marks
end

--- One track as a line.
---@param selected integer?  position of the block under the cursor
---@return string line
---@return { [1]: string, [2]: integer, [3]: integer }[] marks  group, first byte, byte after the last
function M.track(track, window, width, selected)
  local row = { cells = {}, groups = {} }
  for column = 1, width do
    row.cells[column] = ' '
  end
  if window.gap then
    local first, last = M.span({ start = window.gap[1], duration = window.gap[2] - window.gap[1] }, window, width)
    for column = first, last do
      row.cells[column], row.groups[column] = GAP, 'HotlensDim'
    end
  end
  for index = 1, #track.blocks.start do
    local block = M.block(track.blocks, index)
    local first, last = M.span(block, window, width)
    -- What shares a cell with a block that is drawn gives way to it.
    if first == last and row.groups[first] and block.kind ~= 'idle' then
      row.groups[first] = group_of(block, track)
    else
      draw_block(row, block, first, last, group_of(block, track))
    end
  end
  local chosen = selected and M.block(track.blocks, selected)
  if chosen then
    local first, last = M.span(chosen, window, width)
    for column = first, last do
      row.groups[column] = 'HotlensSelected'
    end
  end
  local name = M.cells(track.name, NAME_WIDTH - 1)
  while #name < NAME_WIDTH do
    name[#name + 1] = ' '
  end
  return finish(table.concat(name), row)
end

--- The cells that a level's tracks have in a window of `columns`.
function M.width(columns) return math.max(MIN_WIDTH, columns - NAME_WIDTH - 1) end

local function axis(window, width)
  local cells, groups = {}, {}
  for column = 1, width do
    cells[column] = ' '
  end
  local count = math.max(1, math.floor(width / 16))
  local function put(at, text, group)
    for offset, cell in ipairs(M.cells(text, 15)) do
      if at + offset <= width then
        cells[at + offset], groups[at + offset] = cell, group
      end
    end
  end
  for tick = 0, count - 1 do
    local at = math.floor(tick * width / count)
    put(at, '╷' .. words.time(time_axis.time_at(at, window, width)), 'HotlensDim')
  end
  if window.gap then
    -- The time that was left out stands in the middle of the gap, over the ticks.
    local text = '⟨' .. words.time(window.gap[2] - window.gap[1]) .. '⟩'
    local middle = time_axis.position((window.gap[1] + window.gap[2]) / 2, window, width)
    put(math.max(0, math.floor(middle - vim.api.nvim_strwidth(text) / 2)), text, 'HotlensTitle')
  end
  return finish((' '):rep(NAME_WIDTH), { cells = cells, groups = groups })
end

-- What was different in a step unlike the others.
local function outlier(step)
  if not step.outlier then return '' end
  local differences = vim.tbl_map(function(each)
    local kind, name = words.clean(each.what):match('^(%l+) (.*)$')
    return ('%s in %s'):format(words.signed_time(each.excess), kind == 'module' and name or (name or each.what):gsub('_', ' '))
  end, step.differences or {})
  return ', an outlier' .. (#differences > 0 and ': ' .. table.concat(differences, ', ') or '')
end

-- A step is as long as its host takes; its device may go on.
local function title_of_step(block, step)
  local wall = step.wall or block.duration
  local late = block.duration > wall and (', its device work until %s'):format(words.time(block.duration)) or ''
  return ('step %s  %s%s%s'):format(step.index, words.time(wall), late, outlier(step))
end

local function title(level, depth, step)
  if level.block.kind == 'recording' then return ('recording  %s'):format(words.time(level.block.duration)) end
  if depth == 0 then return title_of_step(level.block, step) end
  local labels = vim.tbl_map(
    function(crumb) return words.clean(crumb.label) end,
    vim.tbl_filter(function(crumb) return #crumb.path > 0 end, level.crumbs)
  )
  return ('%s  %s'):format(table.concat(labels, ' › '), words.time(level.block.duration))
end

---@class hotlens.Picture
---@field lines string[]
---@field marks { [1]: integer, [2]: string, [3]: integer, [4]: integer }[]  0-based line, group, bytes
---@field rows { depth: integer, track: integer }[]  by 1-based line, where a line is a track

--- Every open level, the block under the cursor marked and described below its level.
---@param shown { levels: table[], step: { index: any, wall: integer? }, cursor: { depth: integer, track: integer, index: integer }?, columns: integer, foot: string[] }
---@return hotlens.Picture
function M.picture(shown)
  local lines, marks, rows = {}, {}, {}
  local width = M.width(shown.columns)
  local function add(line, groups)
    table.insert(lines, line)
    for _, mark in ipairs(groups or {}) do
      table.insert(marks, { #lines - 1, mark[1], mark[2], mark[3] })
    end
  end
  for position, level in ipairs(shown.levels) do
    local depth = position - 1
    local text = title(level, depth, shown.step)
    add(text, { { 'HotlensTitle', 0, #text } })
    local window = time_axis.window(level, width)
    add(axis(window, width))
    for index, track in ipairs(level.tracks) do
      local here = shown.cursor and shown.cursor.depth == depth and shown.cursor.track == index
      add(M.track(track, window, width, here and shown.cursor.index or nil))
      rows[#lines] = { depth = depth, track = index }
    end
    if level.moreTracks > 0 then add(('%s%d more tracks, less busy than these'):format((' '):rep(NAME_WIDTH), level.moreTracks)) end
    if window.gap then
      add(('%s%s without work of this block, drawn short'):format((' '):rep(NAME_WIDTH), words.time(window.gap[2] - window.gap[1])))
    end
    add('')
  end
  for _, line in ipairs(shown.foot) do
    line = words.clean(line)
    add(line, { { 'HotlensDim', 0, #line } })
  end
  return { lines = lines, marks = marks, rows = rows }
end

return M
