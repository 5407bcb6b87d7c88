-- Asks for what the text view draws: every open level of a step, or the whole recording (protocol/TIMELINE.md).
local M = {}

local axis = require('hotlens.timeline_axis')
local runs = require('hotlens.timeline_runs')

local MOST_WIDTH = 8192 -- of the protocol

-- The level above the steps: its blocks lead to steps instead of levels.
local function level_of_recording(recording)
  local block = { label = 'recording', kind = 'recording', duration = recording.extent[2] }
  return vim.tbl_extend('force', recording, { path = {}, crumbs = {}, block = block, moreTracks = 0 })
end

---@class hotlens.Looked  what is looked at
---@field path string[]
---@field zoom? { [1]: integer, [2]: integer }  of the lowest level
---@field unfold boolean
---@field recording boolean

--- `done` gets the levels once all are there, from the top.
---@param request fun(method: string, params: table, done: fun(answer: table))
---@param looked hotlens.Looked
---@param width integer  cells
---@param done fun(levels: table[])
function M.ask(request, looked, width, done)
  local path, zoom, unfold, whole = looked.path, looked.zoom, looked.unfold, looked.recording
  local levels = {}
  local function next_level(depth, finer)
    local params = { width = finer or width }
    if not whole then
      params.path, params.unfold = vim.list_slice(path, 1, depth), unfold
    end
    if depth == #path and zoom then
      params.from, params.to = zoom[1], zoom[2]
    end
    request(whole and 'recording' or 'level', params, function(answer)
      local level = runs.joined(whole and level_of_recording(answer) or answer)
      -- A gap that is drawn short leaves more cells to the rest than was asked for.
      local fine = math.min(MOST_WIDTH, axis.fine_width(axis.window(level, width), width))
      if not finer and fine > width then return next_level(depth, fine) end
      levels[depth + 1] = level
      if depth < #path then return next_level(depth + 1) end
      done(levels)
    end)
  end
  next_level(0)
end

return M
