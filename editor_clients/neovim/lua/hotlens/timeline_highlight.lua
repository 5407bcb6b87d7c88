-- The lines of what the pointer rests on in the timeline's page, highlighted where they are visible. Nothing is scrolled or selected.
local M = {}

local GROUP = 'HotlensPointed'
local MOST_LINES = 500 -- of one place: a long class is not worth more marks
local namespace = vim.api.nvim_create_namespace('hotlens.pointed')

local function visible_buffer(uri)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local buffer = vim.api.nvim_win_get_buf(window)
    if vim.uri_from_bufnr(buffer) == uri then return buffer end
  end
end

--- In place of those that were highlighted before. Lines are 0-based, both within.
---@param lines { uri: string, line: integer, endLine: integer }[]
function M.show(lines)
  vim.api.nvim_set_hl(0, GROUP, { link = 'Visual', default = true })
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  end
  for _, each in ipairs(lines) do
    local buffer = visible_buffer(each.uri)
    local last = buffer and math.min(each.endLine, each.line + MOST_LINES, vim.api.nvim_buf_line_count(buffer) - 1) or -1
    for line = each.line, last do
      vim.api.nvim_buf_set_extmark(buffer, namespace, line, 0, { line_hl_group = GROUP })
    end
  end
end

return M
