-- The keys that change which part of the lowest level is seen.
local M = {}

local walk = require('hotlens.timeline_walk')

local PAN = 0.2 -- of what is seen

---@param of { state: fun(): hotlens.TimelineState, load: fun(), say: fun(note: string) }
function M.actions(of)
  -- The block under the cursor, where it is of the lowest level.
  local function looked()
    local state = of.state()
    local block = walk.block_at(state.levels, state.cursor)
    return state, state.levels[#state.path + 1], block, block and state.cursor.depth == #state.path
  end

  local function show(window, block)
    local state = of.state()
    state.zoom = window
    state.wanted = block and block.segment ~= '' and block.segment or nil
    of.load()
  end

  local function zoom(factor)
    local _, level, block, here = looked()
    if level then show(walk.zoomed(level, here and block or nil, factor), block) end
  end

  local function pan(by)
    local state, level = looked()
    if not level or not state.zoom then return of.say('All of this level is seen: zoom in with + first.') end
    show(walk.panned(level, by))
  end

  return {
    zoom_in = function() zoom(0.5) end,
    zoom_out = function() zoom(2) end,
    zoom_to_block = function()
      local _, _, block, here = looked()
      if here then show(walk.filled(block), block) end
    end,
    pan_left = function() pan(-PAN) end,
    pan_right = function() pan(PAN) end,
    fit = function() show(nil) end,
  }
end

return M
