-- A small window with words to look up: the keys of a buffer, the commands. `q`, `<Esc>` and `?` close it.
local M = {}

local MARGIN = 4 -- cells of the screen that stay free beside it

--- Shows the lines over what is there, as large as they are and the screen allows.
---@param title string
---@param lines string[]
---@return integer window
function M.show(title, lines)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable, vim.bo[buffer].bufhidden = false, 'wipe'
  local widest = vim
    .iter(lines)
    :fold(vim.fn.strdisplaywidth(title) + 2, function(most, line) return math.max(most, vim.fn.strdisplaywidth(line)) end)
  local width = math.max(1, math.min(widest, vim.o.columns - MARGIN))
  local height = math.max(1, math.min(#lines, vim.o.lines - MARGIN))
  local window = vim.api.nvim_open_win(buffer, true, {
    relative = 'editor',
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2) - 1),
    width = width,
    height = height,
    style = 'minimal',
    border = 'rounded',
    title = ' ' .. title .. ' ',
  })
  for _, key in ipairs({ 'q', '<Esc>', '?' }) do
    vim.keymap.set('n', key, '<Cmd>close<CR>', { buffer = buffer, nowait = true, desc = 'Hotlens: close' })
  end
  return window
end

--- `?` in the buffer shows its keys.
---@param buffer integer
---@param title string
---@param keys { [1]: string, [2]: string }[]  a key, and what it does
function M.explain(buffer, title, keys)
  local lines = vim.tbl_map(
    function(row) return (' %-16s %s '):format(row[1], row[2]) end,
    vim.list_extend(vim.list_slice(keys), { { '?', 'these keys' } })
  )
  vim.keymap.set('n', '?', function() M.show(title, lines) end, { buffer = buffer, nowait = true, desc = 'Hotlens: keys' })
end

return M
