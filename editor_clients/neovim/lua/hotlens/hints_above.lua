-- Hints above their lines, where the setting asks for that: Neovim draws inlay hints within lines only.
local M = {}

local HINTS = 'textDocument/inlayHint'
local namespace = vim.api.nvim_create_namespace('hotlens.hints_above')

---@return boolean
function M.wanted()
  local hints = require('hotlens.config').read().hints or {}
  return hints.enabled ~= false and hints.place == 'above'
end

local function text_of(label)
  if type(label) == 'string' then return label end
  return vim.iter(label):map(function(part) return part.value end):join('')
end

-- Neovim has no room above the first line: its hint stands at the end.
local function mark_of(row, line, text)
  if row == 0 then return { virt_text = { { text, 'LspInlayHint' } }, virt_text_pos = 'eol' } end
  local indent = (' '):rep(vim.fn.strdisplaywidth(line:match('^%s*')))
  return { virt_lines = { { { indent }, { text, 'LspInlayHint' } } }, virt_lines_above = true }
end

local function draw(bufnr, hints)
  vim.api.nvim_buf_clear_namespace(bufnr, namespace, 0, -1)
  for _, hint in ipairs(hints) do
    local row = hint.position.line
    local line = vim.api.nvim_buf_get_lines(bufnr, row, row + 1, false)[1]
    if line then vim.api.nvim_buf_set_extmark(bufnr, namespace, row, 0, mark_of(row, line, text_of(hint.label))) end
  end
end

--- Asks for the hints of a buffer and draws them. An answer that is late is left: the change after it asks again.
---@param client vim.lsp.Client
---@param bufnr integer
function M.refresh(client, bufnr)
  local whole = { start = { line = 0, character = 0 }, ['end'] = { line = vim.api.nvim_buf_line_count(bufnr), character = 0 } }
  local params = { textDocument = vim.lsp.util.make_text_document_params(bufnr), range = whole }
  local tick = vim.api.nvim_buf_get_changedtick(bufnr)
  client:request(HINTS, params, function(err, hints)
    if err or not hints or not vim.api.nvim_buf_is_loaded(bufnr) then return end
    if vim.api.nvim_buf_get_changedtick(bufnr) == tick then draw(bufnr, hints) end
  end, bufnr)
end

--- To be called when a buffer is shown or was changed.
---@param bufnr integer
function M.on_buffer(bufnr)
  if not M.wanted() then return end
  for _, client in ipairs(vim.lsp.get_clients({ name = 'hotlens', bufnr = bufnr })) do
    M.refresh(client, bufnr)
  end
end

return M
