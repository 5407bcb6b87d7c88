-- The buffer and the window of the text view, its keys, and what is painted in them: lines that the server drew.
local M = {}

local colours = require('hotlens.timeline_colours')
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

-- The same keys in the words of `?`.
local EXPLAINED = {
  { 'Enter', 'open the block' },
  { 'Backspace, Esc', 'close the lowest level' },
  { 'h l  ← →', 'block before, behind' },
  { 'j k  ↓ ↑', 'track below, above' },
  { '0 $', 'first, last block' },
  { '+ -', 'zoom' },
  { 'z', 'zoom to the block' },
  { 'f', 'all of the level again' },
  { 'a d', 'pan' },
  { '[ ]', 'step before, behind' },
  { 'c', 'compare the step with the usual one' },
  { 'o', 'the whole recording' },
  { 'r', 'add up what is seen' },
  { 'p', 'save what is seen for Perfetto' },
  { 'u', 'unfold repeats' },
  { '/ n N', 'search, next match, previous' },
  { 'gd', 'go to the line' },
  { 'q', 'close' },
}

local HELP = {
  'Enter open · Backspace up · h l block · j k track · 0 $ ends · + - z f zoom · a d pan · [ ] step · o recording',
  'r add up what is seen · p save it for Perfetto · c compare steps · u unfold · / n N search · gd line · ? keys · q close',
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
  require('hotlens.float').explain(buffer, 'Timeline', EXPLAINED)
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

--- The columns that are drawn in: one less than there are, so that nothing is cut.
---@param win integer  -1: not on the screen
function M.columns(win) return (win == -1 and vim.o.columns or vim.api.nvim_win_get_width(win)) - 1 end

--- Lines and the keys below them.
---@param lines string[]
---@param marks { [1]: integer, [2]: integer, [3]: integer, [4]: string }[]  0-based line, bytes, class
function M.paint(buffer, lines, marks)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.list_extend(vim.list_slice(lines), HELP))
  vim.bo[buffer].modifiable = false
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  for _, mark in ipairs(marks) do
    vim.api.nvim_buf_set_extmark(buffer, namespace, mark[1], mark[2], { end_col = mark[3], hl_group = colours.group(mark[4]) })
  end
  for line = #lines, #lines + #HELP - 1 do
    vim.api.nvim_buf_set_extmark(buffer, namespace, line, 0, { line_hl_group = colours.group('dim') })
  end
end

return M
