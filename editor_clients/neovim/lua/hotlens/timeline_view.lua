-- The timeline as text in a buffer. The server draws it and knows what keys change (protocol/TIMELINE.md, "text"); here are the buffer, the
-- keys that were pressed since the last answer, and the view that goes back with them.
local M = {}

local code = require('hotlens.timeline_line')
local colours = require('hotlens.timeline_colours')
local screen = require('hotlens.timeline_screen')

---@class hotlens.TimelineState
---@field client vim.lsp.Client
---@field buffer integer
---@field view? table  where we stand, as the last answer has it
---@field seen? table  what is seen of the lowest level, as params of "export"
---@field pressed table[]  actions that are not sent yet
---@field stale boolean  what is drawn is to be drawn anew
---@field asking boolean  an answer is awaited

local state ---@type hotlens.TimelineState?

local function window() return state and vim.fn.bufwinid(state.buffer) or -1 end

local function say(note) require('hotlens.messages').notify('Hotlens: ' .. note, vim.log.levels.WARN) end

local function request(method, params, done)
  local mine = assert(state)
  if mine.client:is_stopped() then return done('the server has stopped. :Hotlens timeline text asks the next one.') end
  mine.client:request('hotlens/timeline/' .. method, params, function(err, answer)
    if state == mine then done(err and err.message, answer) end
  end, mine.buffer)
end

local function show(answer)
  state.view, state.seen = answer.view, answer.seen
  screen.paint(state.buffer, answer.lines, answer.marks)
  if window() ~= -1 and answer.cursor then vim.api.nvim_win_set_cursor(window(), { answer.cursor[1] + 1, answer.cursor[2] }) end
  if answer.place then code.show(answer.place, state.buffer) end
end

-- One request at a time: what is pressed meanwhile goes with the next one.
local function ask()
  local pressed = state.pressed
  state.pressed, state.stale, state.asking = {}, false, true
  local params =
    { view = state.view, actions = pressed, columns = screen.columns(window()), folder = vim.fn.getcwd(), home = vim.uv.os_homedir() }
  request('text', params, function(failed, answer)
    state.asking = false
    if failed then
      say(failed)
      if not state.view then screen.paint(state.buffer, { failed }, {}) end
    else
      show(answer)
    end
    if state and state.stale then ask() end
  end)
end

---@param does? string  an action of the protocol; absent: draw anew
---@param more? table
local function act(does, more)
  if not state then return end
  if does then table.insert(state.pressed, vim.tbl_extend('force', { does = does }, more or {})) end
  state.stale = true
  if not state.asking or state.client:is_stopped() then ask() end
end

-- What is done here and not by the server.
local own = {}

function own.search()
  vim.ui.input({ prompt = 'Search all steps: ' }, function(query)
    if query and query ~= '' then act('search', { query = query }) end
  end)
end

local function save(path, text)
  local file, failed = io.open(vim.fs.normalize(path), 'w')
  if not file then return say(('Nothing was saved: %s'):format(failed)) end
  file:write(text)
  file:close()
  require('hotlens.messages').notify(('Hotlens: %s holds what is seen; open it at ui.perfetto.dev.'):format(path))
end

function own.export()
  if not state.seen then return end
  request('export', state.seen, function(failed, saved)
    if failed then return say(failed) end
    vim.ui.input({ prompt = 'Save for Perfetto as: ', default = saved.name, completion = 'file' }, function(path)
      if path and path ~= '' then save(path, saved.text) end
    end)
  end)
end

function own.close() vim.api.nvim_buf_delete(state.buffer, { force = true }) end

local function run(action)
  if not state then return end
  if own[action] then return own[action]() end
  act(action)
end

local function begin(client)
  local buffer = screen.make(run, { closed = function() state = nil end, resized = function() act() end })
  state = { client = client, buffer = buffer, pressed = {}, stale = false, asking = false }
  screen.show(buffer)
  screen.paint(buffer, { 'Reading the profile …' }, {})
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
    if state.client ~= client then
      state.client, state.asking = client, false
    end
  else
    begin(client)
  end
  if block then return M.select(block) end
  act()
end

--- Shows a block that was chosen elsewhere.
---@param block { profile?: string, step?: integer, path: string[] }
function M.select(block) act('select', block) end

--- A profile came, went or was replaced: what is shown now is shown anew.
function M.reload() act('latest') end

return M
