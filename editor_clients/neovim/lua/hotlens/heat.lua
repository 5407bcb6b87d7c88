-- Marks by share beside the lines of a buffer, as signs: three heights tell the levels apart, the colour only says it again. What is hot
-- has a tint behind the line and its hint, which all have one highlight. They move with the text until the answer for the new text is there.
local M = {}

local METHOD = 'hotlens/heat'
local PRIORITY = 4 -- below diagnostics and what other plugins show
local namespace = vim.api.nvim_create_namespace('hotlens.heat')

local SIGNS = { { '▂', 'HotlensHeatWeak' }, { '▅', 'HotlensHeatMiddle' }, { '█', 'HotlensHeatStrong' } } -- by level
local TINT = 'HotlensStrongLine'
local TINTS = { dark = '#332421', light = '#fbe9e6' }
local LINKS = { HotlensHeatWeak = 'Comment', HotlensHeatMiddle = 'DiagnosticWarn', HotlensHeatStrong = 'DiagnosticError' }

local function draw(bufnr, marks)
  for name, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
  vim.api.nvim_set_hl(0, TINT, { bg = TINTS[vim.o.background], default = true })
  vim.api.nvim_buf_clear_namespace(bufnr, namespace, 0, -1)
  local last = vim.api.nvim_buf_line_count(bufnr) - 1
  for _, mark in ipairs(marks) do
    local sign = SIGNS[mark.level]
    if sign and mark.line <= last then
      vim.api.nvim_buf_set_extmark(bufnr, namespace, mark.line, 0, {
        sign_text = sign[1],
        sign_hl_group = sign[2],
        line_hl_group = mark.level == #SIGNS and TINT or nil,
        priority = PRIORITY,
      })
    end
  end
end

--- Asks for the marks of a buffer that is shown; others are asked for when they are.
---@param client vim.lsp.Client
---@param bufnr integer
function M.refresh(client, bufnr)
  if vim.fn.bufwinid(bufnr) == -1 or client:is_stopped() then return end
  local tick = vim.api.nvim_buf_get_changedtick(bufnr)
  client:request(METHOD, { textDocument = vim.lsp.util.make_text_document_params(bufnr) }, function(err, answer)
    if err or not answer or not vim.api.nvim_buf_is_loaded(bufnr) then return end
    if vim.api.nvim_buf_get_changedtick(bufnr) == tick then draw(bufnr, answer.marks) end
  end, bufnr)
end

---@param ctx lsp.HandlerContext
function M.on_changed(ctx)
  local client = vim.lsp.get_client_by_id(ctx.client_id)
  for bufnr in pairs(client and client.attached_buffers or {}) do
    M.refresh(client, bufnr)
  end
end

--- To be called when the text of a buffer changed, or it is shown.
---@param bufnr integer
function M.on_buffer(bufnr)
  for _, client in ipairs(vim.lsp.get_clients({ name = 'hotlens', bufnr = bufnr })) do
    M.refresh(client, bufnr)
  end
end

return M
