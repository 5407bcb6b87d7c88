-- The buffer and the window of the text view, and its keys.
local M = {}

local NAME = 'hotlens://timeline'

local KEYS = {
  open = { '<CR>' }, up = { '<BS>', '<Esc>' }, left = { 'h', '<Left>' }, right = { 'l', '<Right>' }, above = { 'k', '<Up>' }, below = { 'j', '<Down>' },
  zoom_in = { '+', '=' }, zoom_out = { '-' }, fit = { 'f' }, next_step = { ']' }, previous_step = { '[' }, unfold = { 'u' }, search = { '/' },
  next_match = { 'n' }, previous_match = { 'N' }, recording = { 'o' }, line = { 'gd' }, close = { 'q' },
}

---@param run fun(action: string)  what a key does
---@param on { closed: fun(), resized: fun() }
---@return integer buffer
function M.make(run, on)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, NAME)
  vim.bo[buffer].bufhidden = 'wipe'
  for action, keys in pairs(KEYS) do
    for _, key in ipairs(keys) do
      vim.keymap.set('n', key, function() run(action) end, { buffer = buffer, nowait = true, desc = 'Hotlens: ' .. action:gsub('_', ' ') })
    end
  end
  vim.api.nvim_create_autocmd('BufWipeout', { buffer = buffer, callback = on.closed })
  vim.api.nvim_create_autocmd('VimResized', { buffer = buffer, callback = on.resized })
  return buffer
end

function M.show(buffer)
  vim.cmd('botright split')
  local win = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(win, buffer)
  vim.wo[win].wrap, vim.wo[win].number, vim.wo[win].relativenumber, vim.wo[win].signcolumn = false, false, false, 'no'
end

return M
