-- Inlay hints after a new profile. Neovim 0.11 draws lines again as soon as the server asks for a refresh, with the hints it still has, and
-- does not look again when the new ones arrive; buffers without a window are left out. So the hints are fetched first and drawn then, and a
-- hidden buffer is drawn again when it comes back.
local M = {}

local above = require('hotlens.hints_above')

local REFRESH = 'workspace/inlayHint/refresh'
local HINTS = 'textDocument/inlayHint'

local hidden = {} ---@type table<integer, true>  buffers to draw again when they are shown

local function whole_buffer(bufnr)
  return { start = { line = 0, character = 0 }, ['end'] = { line = vim.api.nvim_buf_line_count(bufnr), character = 0 } }
end

-- Neovim's own handler, for all windows.
local function draw_again(client_id) vim.lsp.handlers[REFRESH](nil, nil, { client_id = client_id, method = REFRESH }) end

---@param ctx lsp.HandlerContext
function M.on_refresh(ctx)
  local client = vim.lsp.get_client_by_id(ctx.client_id)
  for bufnr in pairs(client and client.attached_buffers or {}) do
    if above.wanted() then
      above.refresh(client, bufnr)
    elseif vim.fn.bufwinid(bufnr) == -1 then
      hidden[bufnr] = true
    elseif vim.lsp.inlay_hint.is_enabled({ bufnr = bufnr }) then
      local params = { textDocument = vim.lsp.util.make_text_document_params(bufnr), range = whole_buffer(bufnr) }
      client:request(HINTS, params, function(err, hints, answer)
        vim.lsp.handlers[HINTS](err, hints, answer)
        draw_again(client.id)
      end, bufnr)
    end
  end
  return vim.NIL
end

--- To be called when a buffer is shown.
---@param bufnr integer
function M.on_shown(bufnr)
  if not hidden[bufnr] then return end
  hidden[bufnr] = nil
  for _, client in ipairs(vim.lsp.get_clients({ name = 'hotlens', bufnr = bufnr })) do
    M.on_refresh({ client_id = client.id })
  end
end

return M
