-- The buffer and the window of the text view, what is painted in them, and its keys.
local M = {}

local axis = require('hotlens.timeline_axis')
local text = require('hotlens.timeline_text')
local namespace = vim.api.nvim_create_namespace('hotlens.timeline')

local NAME = 'hotlens://timeline'

local KEYS = {
  open = { '<CR>' },
  up = { '<BS>', '<Esc>' },
  left = { 'h', '<Left>' },
  right = { 'l', '<Right>' },
  above = { 'k', '<Up>' },
  below = { 'j', '<Down>' },
  zoom_in = { '+', '=' },
  zoom_out = { '-' },
  pan_left = { 'a' },
  pan_right = { 'd' },
  fit = { 'f' },
  next_step = { ']' },
  previous_step = { '[' },
  unfold = { 'u' },
  search = { '/' },
  next_match = { 'n' },
  previous_match = { 'N' },
  recording = { 'o' },
  sum = { 'r' },
  export = { 'p' },
  compare = { 'c' },
  zoom_to_block = { 'z' },
  first = { '0', '<Home>' },
  last = { '$', '<End>' },
  line = { 'gd' },
  close = { 'q' },
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

---@param picture hotlens.Picture
function M.paint(buffer, picture)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, picture.lines)
  vim.bo[buffer].modifiable = false
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  for _, mark in ipairs(picture.marks) do
    vim.api.nvim_buf_set_extmark(buffer, namespace, mark[1], mark[3], { end_col = mark[4], hl_group = mark[2] })
  end
end

--- The terminal's cursor stands on the chosen block.
---@param picture hotlens.Picture
---@param cursor hotlens.Cursor
function M.place_cursor(win, picture, levels, cursor)
  for line, row in pairs(picture.rows) do
    if row.depth == cursor.depth and row.track == cursor.track then
      local level = levels[cursor.depth + 1]
      local block = text.block(level.tracks[cursor.track].blocks, cursor.index)
      local width = text.width(vim.api.nvim_win_get_width(win))
      local first = block and text.span(block, axis.window(level, width), width) or 1
      local column = vim.fn.virtcol2col(win, line, text.NAME_WIDTH + first)
      vim.api.nvim_win_set_cursor(win, { line, math.max(0, column - 1) })
    end
  end
end

return M
