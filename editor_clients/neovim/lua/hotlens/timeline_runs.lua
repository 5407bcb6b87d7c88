-- The server draws a block of many short spans as many narrow pieces, so that what is drawn is as wide as the block is busy. To the eye and
-- the cursor they are one thing: pieces of one block with less than about a cell between them become one run. Pure.
local M = {}

-- A piece lasts as long as what it stands for within one cell is busy, so between two of them there may be this many cells.
local TOGETHER = 2
local SAME = { 'segment', 'label', 'kind', 'stage' }
local SUMS = { 'busy', 'waiting', 'spans' }

local function continues(blocks, index, pixel)
  if index == 1 or blocks.segment[index] == '' then return false end
  for _, column in ipairs(SAME) do
    if blocks[column][index] ~= blocks[column][index - 1] then return false end
  end
  return blocks.start[index] - blocks.start[index - 1] - blocks.duration[index - 1] < TOGETHER * pixel
end

local function runs_of(blocks, pixel)
  local runs = { labels = blocks.labels, kinds = blocks.kinds, stages = blocks.stages }
  local columns = vim.tbl_filter(function(name) return not runs[name] end, vim.tbl_keys(blocks))
  for _, name in ipairs(columns) do
    runs[name] = {}
  end
  local count = 0
  for index = 1, #blocks.start do
    if continues(blocks, index, pixel) then
      runs.duration[count] = blocks.start[index] + blocks.duration[index] - runs.start[count]
      for _, name in ipairs(SUMS) do
        runs[name][count] = runs[name][count] + blocks[name][index]
      end
    else
      count = count + 1
      for _, name in ipairs(columns) do
        runs[name][count] = blocks[name][index]
      end
    end
  end
  return runs
end

--- The level with runs for blocks.
---@param level table  as the server answers it
function M.joined(level)
  for _, track in ipairs(level.tracks) do
    track.blocks = runs_of(track.blocks, level.pixel)
  end
  return level
end

return M
