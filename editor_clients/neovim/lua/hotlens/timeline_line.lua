-- Shows a line of the code beside the timeline.
local M = {}

local function go(win, place) vim.api.nvim_win_set_cursor(win, { math.min(place.line + 1, vim.api.nvim_buf_line_count(0)), 0 }) end

--- In the first window of the tab page that shows a file, else in a new one.
---@param place { file: string, line: integer }
---@param timeline integer  the buffer that the line is not shown in
function M.show(place, timeline)
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local buffer = vim.api.nvim_win_get_buf(win)
    if buffer ~= timeline and vim.bo[buffer].buftype == '' then
      vim.api.nvim_set_current_win(win)
      vim.cmd.edit(vim.fn.fnameescape(place.file))
      return go(win, place)
    end
  end
  vim.cmd('aboveleft split ' .. vim.fn.fnameescape(place.file))
  go(0, place)
end

return M
