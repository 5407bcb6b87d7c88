-- What the server tells: short messages at the bottom of the screen, everything in a log that :Hotlens log opens.
local M = {}

local WARNING_STAYS_MS = 5000
local KEPT_LINES = 2000 -- a script that prints without end must not fill the memory
local LEVELS = { vim.log.levels.ERROR, vim.log.levels.WARN, vim.log.levels.INFO } -- by LSP MessageType

local lines = {} ---@type string[]
local buffer ---@type integer?
local warned_at = -math.huge -- ms

local function show_in_buffer()
  if not (buffer and vim.api.nvim_buf_is_valid(buffer)) then return end
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
end

---@param message { type?: integer, message: string }
function M.record(message)
  for line in vim.gsplit(message.message, '\n', { trimempty = true }) do
    table.insert(lines, os.date('%H:%M:%S ') .. line)
  end
  if #lines > KEPT_LINES then lines = vim.list_slice(lines, #lines - KEPT_LINES + 1) end
  show_in_buffer()
end

-- Neovim's own; a plugin in its place has windows for long texts.
local function is_plain_notify() return debug.getinfo(vim.notify, 'S').source:find('vim/_', 1, true) ~= nil end

-- As wide as can be shown without a question for ENTER.
local function cut(text)
  local room = math.max(vim.v.echospace + (vim.o.cmdheight - 1) * vim.o.columns, 20)
  local one = text:gsub('%s*\n%s*', ' ')
  return vim.fn.strdisplaywidth(one) > room and vim.fn.strcharpart(one, 0, room - 1) .. '…' or one
end

local GROUPS = { [vim.log.levels.ERROR] = 'ErrorMsg', [vim.log.levels.WARN] = 'WarningMsg' }

--- Says it at the bottom of the screen. What has no room there never stops at "Press ENTER": `:messages` has the whole text.
---@param text string
---@param level? integer  of vim.log.levels
function M.notify(text, level)
  if not is_plain_notify() or cut(text) == text then return vim.notify(text, level) end
  local options = vim.o.messagesopt
  vim.o.messagesopt = 'wait:0,history:500'
  vim.api.nvim_echo({ { text, GROUPS[level] } }, true, {})
  vim.cmd.redraw()
  vim.o.messagesopt = options
  vim.api.nvim_echo({ { cut(text), GROUPS[level] } }, false, {})
end

local said = {} ---@type table<string, true>

--- The same, once a session.
---@param text string
---@param level? integer
function M.notify_once(text, level)
  if said[text] then return end
  said[text] = true
  M.notify(text, level)
end

--- A message of the server.
---@param message { type: integer, message: string }
function M.show(message)
  M.record(message)
  if message.type <= vim.lsp.protocol.MessageType.Warning then warned_at = vim.uv.now() end
  M.notify('Hotlens: ' .. message.message, LEVELS[message.type] or vim.log.levels.INFO)
end

-- What a button of a message is here: a list to choose from would take the keys of somebody who types.
local COMMANDS = {
  arguments = ':Hotlens arguments',
  interpreter = ':Hotlens interpreter',
  log = ':Hotlens output',
  line = ':Hotlens next',
  lines = ':Hotlens hot',
}

--- A message with buttons. It says the commands that do the same; nothing is chosen.
---@param question { type: integer, message: string, actions?: { title: string, id?: string }[] }
function M.ask(question)
  local ways = {}
  for _, action in ipairs(question.actions or {}) do
    table.insert(ways, COMMANDS[action.id])
  end
  local text = #ways == 0 and question.message or ('%s (%s)'):format(question.message, table.concat(ways, ', '))
  if question.type <= vim.lsp.protocol.MessageType.Warning then
    M.show({ type = question.type, message = text })
  else
    M.record({ message = text })
    M.status('Hotlens: ' .. text)
  end
  return vim.NIL
end

--- Asks for one line; the answer waits for it.
---@param question { title: string, value: string, message?: string }
function M.prompt(question)
  local asked = assert(coroutine.running())
  local title = question.message and ('%s (%s)'):format(question.title, question.message) or question.title
  vim.ui.input({ prompt = title .. ': ', default = question.value }, function(line)
    -- Never before the yield below.
    vim.schedule(function() coroutine.resume(asked, line and { value = line } or vim.NIL) end)
  end)
  return coroutine.yield()
end

--- Asks for one of a list; the answer waits for it.
---@param question { title: string, message?: string, choices: { label: string, detail: string, file: string, chosen: boolean }[] }
function M.choose(question)
  local asked = assert(coroutine.running())
  local format = function(choice)
    local file = choice.file ~= '' and (' (%s)'):format(choice.file) or ''
    return ('%s%s: %s%s'):format(choice.chosen and '* ' or '', choice.label, choice.detail, file)
  end
  local prompt = question.message and ('%s. %s'):format(question.title, question.message) or question.title
  vim.ui.select(question.choices, { prompt = prompt, format_item = format }, function(_, index)
    -- Never before the yield below.
    vim.schedule(function() coroutine.resume(asked, index and { index = index - 1 } or vim.NIL) end)
  end)
  return coroutine.yield()
end

--- One line that never stops the screen at "Press ENTER" and leaves a fresh warning where it is.
---@param text string
function M.status(text)
  if vim.uv.now() - warned_at < WARNING_STAYS_MS then return end
  vim.api.nvim_echo({ { cut(text) } }, false, {})
end

function M.open_log()
  if not (buffer and vim.api.nvim_buf_is_valid(buffer)) then
    buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buffer, 'hotlens://log')
    vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buffer, desc = 'Hotlens: close' })
    require('hotlens.float').explain(buffer, 'Log', { { 'q', 'close' } })
  end
  show_in_buffer()
  vim.cmd.sbuffer(buffer)
  vim.cmd.normal({ 'G', bang = true })
end

return M
