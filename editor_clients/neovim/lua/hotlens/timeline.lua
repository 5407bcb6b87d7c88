-- :Hotlens timeline: the page in a browser, or the same levels as text where there is no browser (over SSH).
local M = {}

local view = require('hotlens.timeline_view')

local CURSOR_REST_MS = 150 -- a cursor that rests this long is meant
local OPEN = 'hotlens.server.openTimeline'
local group = vim.api.nvim_create_augroup('hotlens.timeline', {})

local in_browser = false
local resting = assert(vim.uv.new_timer())

local function tell_cursor(client, bufnr)
  if not vim.api.nvim_buf_is_valid(bufnr) or vim.api.nvim_get_current_buf() ~= bufnr then return end
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  client:notify('hotlens/timeline/cursor', params)
end

local function cursor_moved(event)
  if not (in_browser or view.is_open()) then return end
  local client = vim.lsp.get_clients({ name = 'hotlens', bufnr = event.buf })[1]
  if not client then return end
  resting:start(CURSOR_REST_MS, 0, vim.schedule_wrap(function() tell_cursor(client, event.buf) end))
end

local function follow_cursor()
  vim.api.nvim_clear_autocmds({ group = group })
  vim.api.nvim_create_autocmd('CursorMoved', { group = group, pattern = '*.py', callback = cursor_moved })
end

local function over_ssh() return (vim.env.SSH_CONNECTION or vim.env.SSH_TTY or '') ~= '' end

-- Where the cursor stands, so that the timeline begins there.
local function here(client)
  if #vim.lsp.get_clients({ name = 'hotlens', bufnr = 0 }) == 0 then return vim.empty_dict() end
  local at = vim.lsp.util.make_position_params(0, client.offset_encoding)
  return { uri = at.textDocument.uri, position = at.position }
end

local function say(message, level) require('hotlens.messages').notify('Hotlens: ' .. message, level or vim.log.levels.WARN) end

local function in_a_browser(answer)
  if not answer.url then return say('the server gave no address. Try :Hotlens timeline text.') end
  in_browser = true
  local _, failed = vim.ui.open(answer.url)
  if failed then say(('no browser was found. Open %s yourself, or try :Hotlens timeline text.'):format(answer.url)) end
end

--- `how`: "browser", "text", or nothing: text over SSH, else the browser.
---@param client vim.lsp.Client
---@param how? string
---@param argument? table  of the server's command: the block to show; absent: that of the line under the cursor
function M.open(client, how, argument)
  local as_text = how == 'text' or (how ~= 'browser' and over_ssh())
  local asked = vim.tbl_extend('force', argument or here(client), { browser = not as_text })
  client:request('workspace/executeCommand', { command = OPEN, arguments = { asked } }, function(err, answer)
    if err then return say(err.message, vim.log.levels.ERROR) end
    follow_cursor()
    if not as_text then return in_a_browser(answer or {}) end
    if asked.compare then say('as text, one profile is shown. Compare in a browser, or with "hotlens diff" in a terminal.') end
    view.open(client, answer and answer.path and answer or nil)
  end)
end

--- hotlens/timeline/select
function M.on_select(block)
  if view.is_open() then view.select(block) end
end

--- hotlens/timeline/changed
function M.on_changed() view.reload() end

return M
