-- Where the keys of the text view lead: from block to block, from track to track, from level to level. Pure: levels and a cursor in, a
-- cursor out, or nothing where the way ends.
local M = {}

local text = require('hotlens.timeline_text')

---@class hotlens.Cursor
---@field depth integer  of the level, from 0
---@field track integer
---@field index integer  of the block

---@param cursor hotlens.Cursor?
---@return hotlens.Block?, table? track
function M.block_at(levels, cursor)
  local level = cursor and levels[cursor.depth + 1]
  local track = level and level.tracks[cursor.track]
  return track and text.block(track.blocks, cursor.index), track
end

--- The first work of a level, or the block that was asked for.
---@return hotlens.Cursor?
function M.first_in(levels, depth, segment)
  for track, row in ipairs(levels[depth + 1].tracks) do
    for index, each in ipairs(row.blocks.segment) do
      if (segment and each == segment) or (not segment and each ~= '') then return { depth = depth, track = track, index = index } end
    end
  end
end

--- The next block of the track; idle time is passed over.
---@return hotlens.Cursor?
function M.sideways(levels, cursor, by)
  local level = cursor and levels[cursor.depth + 1]
  if not level then return end
  local blocks = level.tracks[cursor.track].blocks
  local index = cursor.index + by
  while blocks.start[index] and text.block(blocks, index).kind == 'idle' do
    index = index + by
  end
  return blocks.start[index] and { depth = cursor.depth, track = cursor.track, index = index } or nil
end

--- The first (`by` 1) or the last (-1) block of the track.
---@return hotlens.Cursor?
function M.end_of(levels, cursor, by)
  local level = cursor and levels[cursor.depth + 1]
  if not level then return end
  local count = #level.tracks[cursor.track].blocks.start
  return M.sideways(levels, { depth = cursor.depth, track = cursor.track, index = by > 0 and 0 or count + 1 }, by)
end

-- The block of a track that is nearest in time.
local function nearest(levels, depth, track, time)
  local blocks = levels[depth + 1].tracks[track].blocks
  local best, distance
  for index = 1, #blocks.start do
    local block = text.block(blocks, index)
    local away = math.max(block.start - time, time - block.start - block.duration, 0)
    if block.kind ~= 'idle' and (not best or away < distance) then
      best, distance = index, away
    end
  end
  return best and { depth = depth, track = track, index = best }
end

--- The nearest block of the next track that has work, on to the next level.
---@return hotlens.Cursor?
function M.updown(levels, cursor, by)
  local block = M.block_at(levels, cursor)
  if not block then return end
  local depth, track = cursor.depth, cursor.track + by
  while levels[depth + 1] do
    local tracks = levels[depth + 1].tracks
    while tracks[track] do
      local found = nearest(levels, depth, track, block.start + block.duration / 2)
      if found then return found end
      track = track + by
    end
    depth = depth + by
    track = by > 0 and 1 or (levels[depth + 1] and #levels[depth + 1].tracks or 0)
  end
end

--- The window that a block fills.
---@return { [1]: integer, [2]: integer }
function M.filled(block) return { block.start, block.start + math.max(1, block.duration) } end

--- The window of a level `factor` times as wide, around the block if it is in this level; nothing where that is the whole level.
---@return { [1]: integer, [2]: integer }?
function M.zoomed(level, block, factor)
  local from, to = level.window[1], level.window[2]
  local middle = block and block.start + block.duration / 2 or (from + to) / 2
  local half = math.max(10, (to - from) * factor / 2)
  from, to = math.max(level.extent[1], math.floor(middle - half)), math.min(level.extent[2], math.ceil(middle + half))
  return (from > level.extent[1] or to < level.extent[2]) and { from, to } or nil
end

--- The window moved by a part of itself, as far as the level goes.
---@param by number  of the window's length; negative to the left
---@return { [1]: integer, [2]: integer }
function M.panned(level, by)
  local length = level.window[2] - level.window[1]
  local from = math.floor(level.window[1] + by * length)
  from = math.max(level.extent[1], math.min(level.extent[2] - length, from))
  return { from, from + length }
end

return M
