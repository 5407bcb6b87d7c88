-- What a script prints while it is profiled, in a terminal buffer that :Hotlens output opens: colours, progress bars.
local M = {}

local MOST_KEPT = 1024 * 1024 -- bytes

local kept = ''
local buffer ---@type integer?
local terminal ---@type integer?  the channel of that buffer

local function is_open() return buffer ~= nil and vim.api.nvim_buf_is_valid(buffer) end

local function make()
  buffer = vim.api.nvim_create_buf(false, true)
  terminal = vim.api.nvim_open_term(buffer, {})
  vim.bo[buffer].bufhidden = 'wipe'
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buffer, desc = 'Hotlens: close' })
  require('hotlens.float').explain(buffer, 'Output of the script', { { 'q', 'close' } })
  return buffer
end

-- The buffer of another run takes the place of the one before.
local function replace()
  local before = assert(buffer)
  local windows = vim.fn.win_findbuf(before)
  local new = make()
  for _, window in ipairs(windows) do
    vim.api.nvim_win_set_buf(window, new)
  end
  if vim.api.nvim_buf_is_valid(before) then vim.api.nvim_buf_delete(before, { force = true }) end
end

---@param params { text: string, begins?: boolean }
function M.receive(params)
  local text = params.text:gsub('\r?\n', '\r\n')
  kept = params.begins and text or (kept .. text):sub(-MOST_KEPT)
  if not is_open() then return end
  if params.begins then replace() end
  -- A window whose cursor is at the end goes on with the text; one that somebody scrolled stays. Neovim does both.
  vim.api.nvim_chan_send(assert(terminal), text)
end

--- Shows it; before anything was printed, what the server says.
function M.open()
  if kept == '' then return require('hotlens.messages').open_log() end
  if is_open() then
    local window = vim.fn.win_findbuf(assert(buffer))[1]
    if window then return vim.api.nvim_set_current_win(window) end
  end
  local new = make()
  vim.cmd.sbuffer(new)
  vim.api.nvim_chan_send(assert(terminal), kept)
  vim.cmd.normal({ 'G', bang = true })
end

return M
