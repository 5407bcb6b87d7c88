-- One attached buffer: hints on, lenses drawn and kept fresh, progress told. Other servers' hints and lenses are not asked for.
local M = {}

local messages = require('hotlens.messages')
local group = vim.api.nvim_create_augroup('hotlens', {})

local function request_lenses(client, bufnr)
  if not vim.api.nvim_buf_is_loaded(bufnr) or not client:supports_method('textDocument/codeLens') then return end
  local params = { textDocument = vim.lsp.util.make_text_document_params(bufnr) }
  client:request('textDocument/codeLens', params, vim.lsp.codelens.on_codelens, bufnr)
end

-- Neovim 0.12 keeps lenses fresh itself; 0.11 draws them once per request and drops those of changed lines.
local function keep_lenses(client, bufnr)
  if vim.lsp.codelens.enable then
    vim.lsp.codelens.enable(true, { bufnr = bufnr, client_id = client.id })
    return
  end
  vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'TextChanged' }, {
    group = group,
    buffer = bufnr,
    callback = function()
      for _, each in ipairs(vim.lsp.get_clients({ name = 'hotlens', bufnr = bufnr })) do
        request_lenses(each, bufnr)
      end
    end,
  })
  request_lenses(client, bufnr)
end

local function refresh_lenses(client)
  if vim.lsp.codelens.enable then return end
  for bufnr in pairs(client.attached_buffers) do
    request_lenses(client, bufnr)
  end
end

---@param client vim.lsp.Client
---@param bufnr integer
function M.attach(client, bufnr)
  vim.api.nvim_clear_autocmds({ group = group, buffer = bufnr })
  local hints, above = require('hotlens.config').read().hints or {}, require('hotlens.hints_above')
  if hints.enabled ~= false and not above.wanted() then vim.lsp.inlay_hint.enable(true, { bufnr = bufnr }) end
  above.on_buffer(bufnr)
  vim.api.nvim_create_autocmd('BufWinEnter', {
    group = group,
    buffer = bufnr,
    callback = function() require('hotlens.hints').on_shown(bufnr) end,
  })
  vim.api.nvim_create_autocmd({ 'BufWinEnter', 'InsertLeave', 'TextChanged' }, {
    group = group,
    buffer = bufnr,
    callback = function()
      require('hotlens.heat').on_buffer(bufnr)
      above.on_buffer(bufnr)
    end,
  })
  vim.api.nvim_create_autocmd('BufWritePost', { group = group, buffer = bufnr, callback = function() M.saved(bufnr) end })
  require('hotlens.heat').refresh(client, bufnr)
  keep_lenses(client, bufnr)
end

local writing = false -- by ourselves: nobody saved

local function write_all()
  writing = true
  vim.cmd('silent! wall')
  writing = false
end

-- Profiles again where the setting asks for it.
function M.saved(bufnr)
  if writing or not (require('hotlens.config').read().profile or {}).onSave then return end
  for _, client in ipairs(vim.lsp.get_clients({ name = 'hotlens', bufnr = bufnr })) do
    local arguments = { { uri = vim.uri_from_bufnr(bufnr), saved = true } }
    M.profile({ command = 'hotlens.server.profile', arguments = arguments }, { client_id = client.id, bufnr = bufnr })
  end
end

function M.on_lens_refresh(ctx)
  local client = vim.lsp.get_client_by_id(ctx.client_id)
  if client then refresh_lenses(client) end
  return vim.NIL
end

--- Sends the profile request, from whichever place it came, with the Python found here. The script runs from disk: 'autowrite' is obeyed.
---@param command lsp.Command
---@param ctx { client_id: integer, bufnr: integer }
function M.profile(command, ctx)
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  local asked = command.arguments and command.arguments[1] or {}
  if not asked.saved and (vim.o.autowrite or vim.o.autowriteall) then write_all() end
  local python = require('hotlens.python').find(client.root_dir)
  local here = vim.bo[ctx.bufnr].filetype == 'python' and vim.uri_from_bufnr(ctx.bufnr) or nil
  local request = vim.tbl_extend('keep', asked, { uri = here, python = python and python.path })
  client:request('workspace/executeCommand', { command = command.command, arguments = { request } }, function(err)
    if err then messages.show({ type = vim.lsp.protocol.MessageType.Error, message = err.message }) end
    refresh_lenses(client) -- Neovim 0.11 removes a lens while it runs
  end, ctx.bufnr)
end

vim.api.nvim_create_autocmd('LspProgress', {
  group = group,
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if not client or client.name ~= 'hotlens' then return end
    local value = event.data.params.value
    local percentage = value.kind ~= 'end' and value.percentage and ('%d %%'):format(value.percentage) or nil
    local parts = { value.title or '', value.message or '', percentage or '' }
    messages.status(vim.iter(parts):filter(function(part) return part ~= '' end):join(' · '))
  end,
})

return M
