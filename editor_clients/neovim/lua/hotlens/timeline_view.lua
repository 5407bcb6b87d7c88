-- The buffer that shows the timeline as text, its keys, and what it asks the server for (protocol/TIMELINE.md).
local M = {}

local colours = require('hotlens.timeline_colours')
local comparing = require('hotlens.timeline_compare')
local foot = require('hotlens.timeline_foot')
local code = require('hotlens.timeline_line')
local levels_of = require('hotlens.timeline_levels')
local screen = require('hotlens.timeline_screen')
local searching = require('hotlens.timeline_search')
local text = require('hotlens.timeline_text')
local walk = require('hotlens.timeline_walk')
local seen = require('hotlens.timeline_window')
local zooming = require('hotlens.timeline_zoom')

---@class hotlens.TimelineState
---@field client vim.lsp.Client
---@field buffer integer
---@field profile? string
---@field step? integer
---@field overview? table
---@field path string[]
---@field levels table[]
---@field cursor? { depth: integer, track: integer, index: integer }
---@field zoom? { [1]: integer, [2]: integer }  of the lowest level
---@field wanted? string  segment to put the cursor on when its level is there
---@field details? table
---@field unfold boolean
---@field recording boolean  the whole recording is shown; `step` is what it was opened from
---@field told? string[]  what ran in the window that was added up, or how two steps differ
---@field note? string

local state ---@type hotlens.TimelineState?
local asked = 0 -- the latest request for levels: an earlier answer is not drawn

local function window() return state and vim.fn.bufwinid(state.buffer) or -1 end

local function draw()
  if not state or not vim.api.nvim_buf_is_valid(state.buffer) then return end
  local win = window()
  local step = state.overview and state.overview.steps[(state.step or 0) + 1]
  local picture = text.picture({
    levels = state.levels,
    step = step or { index = state.step or '' },
    cursor = state.cursor,
    columns = win == -1 and vim.o.columns or vim.api.nvim_win_get_width(win),
    foot = foot.lines(state),
  })
  screen.paint(state.buffer, picture)
  if win ~= -1 and state.cursor then screen.place_cursor(win, picture, state.levels, state.cursor) end
end

local function say(note)
  if not state then return end
  state.note = note
  draw()
end

local function request(method, params, done)
  if not state then return end
  -- An empty table alone would be sent as a list.
  local params_here = vim.tbl_extend('keep', vim.empty_dict(), params, { profile = state.profile, step = state.step })
  state.client:request('hotlens/timeline/' .. method, params_here, function(err, result)
    if not state then return end
    if err then return say(err.message) end
    done(result)
  end, state.buffer)
end

local function ask_details()
  state.details = nil
  local block = walk.block_at(state.levels, state.cursor)
  if state.recording or not block or block.segment == '' then return end
  local path = vim.list_extend(vim.list_slice(state.path, 1, state.cursor.depth), { block.segment })
  request('details', { path = path }, function(details)
    local now = walk.block_at(state.levels, state.cursor)
    if not now or now.segment ~= block.segment then return end
    state.details = details
    draw()
  end)
end

-- The levels are drawn when all are there.
local function load()
  asked, state.told = asked + 1, nil
  local mine, win = asked, window()
  local width = text.width(win == -1 and vim.o.columns or vim.api.nvim_win_get_width(win))
  local ask = function(method, params, done)
    request(method, params, function(answer)
      if mine == asked then done(answer) end
    end)
  end
  levels_of.ask(ask, state, width, function(levels)
    state.levels = levels
    local wanted = state.wanted
    state.wanted = nil
    state.cursor = wanted and walk.first_in(levels, #state.path, wanted) or walk.first_in(levels, #state.path)
    ask_details()
    draw()
  end)
end

local function open_path(path, wanted)
  state.path, state.wanted, state.zoom, state.note = path, wanted, nil, nil
  load()
end

local function move(cursor)
  state.cursor, state.note = cursor, nil
  ask_details()
  draw()
end

-- The whole recording; the step that was shown is under the cursor.
local function show_recording()
  state.recording = true
  open_path({}, tostring(state.step))
end

local function show_step(step)
  state.step, state.recording = step, false
end

local actions = {}

function actions.open()
  local block = walk.block_at(state.levels, state.cursor)
  if not block then return end
  if state.recording and block.segment ~= '' then
    show_step(tonumber(block.segment))
    return open_path({})
  end
  if block.open then return open_path(vim.list_extend(vim.list_slice(state.path, 1, state.cursor.depth), { block.segment })) end
  if block.kind == 'merged' then
    state.zoom = walk.filled(block)
    return load()
  end
  actions.line()
end

function actions.up()
  if state.recording then return say('This is the whole recording: there is no level above it.') end
  if #state.path == 0 then return show_recording() end
  open_path(vim.list_slice(state.path, 1, #state.path - 1), state.path[#state.path])
end

function actions.recording()
  if not state.recording then show_recording() end
end

local function go(cursor)
  if cursor then move(cursor) end
end

function actions.left() go(walk.sideways(state.levels, state.cursor, -1)) end
function actions.right() go(walk.sideways(state.levels, state.cursor, 1)) end

function actions.first() go(walk.end_of(state.levels, state.cursor, 1)) end
function actions.last() go(walk.end_of(state.levels, state.cursor, -1)) end

function actions.above() go(walk.updown(state.levels, state.cursor, -1)) end
function actions.below() go(walk.updown(state.levels, state.cursor, 1)) end

function actions.sum()
  local level = state.levels[#state.path + 1]
  if not level then return end
  seen.sum(request, level, state, function(lines)
    state.told = lines
    draw()
  end)
end

function actions.compare()
  comparing.compare(request, state, function(lines)
    state.told, state.note = lines, nil
    draw()
  end, say)
end

function actions.export()
  local level = state.levels[#state.path + 1]
  if level then seen.export(request, level, state, say) end
end

local function walk_steps(by)
  local step = (state.recording and -1 or state.step or 0) + by
  if not state.overview or step < 0 or step >= #state.overview.steps then return end
  show_step(step)
  open_path(state.path)
end

function actions.next_step() walk_steps(1) end
function actions.previous_step() walk_steps(-1) end

function actions.unfold()
  state.unfold = not state.unfold
  open_path({})
end

function actions.line()
  local place = state.details and (state.details.places or {})[1]
  if not place then return say('No line is known for this block.') end
  code.show(place, state.buffer)
end

-- A block that was searched for.
local function go_to_match(path, step, note)
  show_step(step or state.step)
  open_path(vim.list_slice(path, 1, #path - 1), path[#path])
  state.note = note
end

function actions.close() vim.api.nvim_buf_delete(state.buffer, { force = true }) end

local function run(action)
  if state then actions[action]() end
end

-- What other rooms do on a key.
local function add_actions()
  local searches = searching.actions({ request = request, say = say, go = go_to_match })
  local zooms = zooming.actions({ state = function() return state end, load = load, say = say })
  actions = vim.tbl_extend('force', actions, searches, zooms)
end

local function read_overview()
  request('overview', {}, function(overview)
    state.overview, state.note = overview, nil
    state.profile = overview.profile.id
    if not state.step or state.step >= #overview.steps then state.step = overview.representative end
    load()
  end)
end

--- Whether the text view is on the screen.
function M.is_open() return state ~= nil and window() ~= -1 end

--- Opens the text view, or goes to it.
---@param client vim.lsp.Client
---@param block? { profile?: string, step?: integer, path: string[] }  the block to show
function M.open(client, block)
  colours.define_groups()
  if M.is_open() then
    vim.api.nvim_set_current_win(window())
  else
    local buffer = screen.make(run, {
      closed = function() state = nil end,
      resized = function()
        if state then load() end
      end,
    })
    state =
      { client = client, buffer = buffer, path = {}, levels = {}, unfold = false, recording = false, note = 'Reading the profile …' }
    add_actions()
    screen.show(buffer)
    draw()
    state.note = nil
    if not block then return read_overview() end
  end
  if block then M.select(block) end
end

--- Shows a block that was chosen elsewhere.
---@param block { profile?: string, step?: integer, path: string[] }
function M.select(block)
  if not state then return end
  local known = state.overview ~= nil and (block.profile == nil or block.profile == state.profile)
  show_step(block.step or state.step)
  state.path = vim.list_slice(block.path, 1, math.max(0, #block.path - 1))
  state.wanted, state.zoom = block.path[#block.path], nil
  if known then return load() end
  state.profile = block.profile
  read_overview()
end

--- A profile came, went or was replaced: what is shown now is shown anew.
function M.reload()
  if not state then return end
  state.profile, state.step, state.path, state.zoom = nil, nil, {}, nil
  read_overview()
end

return M
