-- The places of the layer under the cursor as a quickfix list, and what is known of its line as Markdown in a register.
local M = {}

local TITLE = 'Hotlens: calls of this layer'

-- Cells, not bytes.
local function padded(text, width) return text .. (' '):rep(width - vim.fn.strdisplaywidth(text)) end

-- `argument`: of a code action; else the cursor's place.
local function ask(client, command, argument, show)
  local place = argument or vim.lsp.util.make_position_params(0, client.offset_encoding)
  if not argument then place = { uri = place.textDocument.uri, position = place.position } end
  client:request('workspace/executeCommand', { command = command, arguments = { place } }, function(err, answer)
    local message = err and err.message or answer.message
    if message then return require('hotlens.messages').status('Hotlens: ' .. message) end
    show(answer)
  end)
end

---@param client vim.lsp.Client
---@param argument? table
function M.list(client, argument)
  ask(client, 'hotlens.server.calls', argument, function(answer)
    local found = vim.lsp.util.locations_to_items(answer.places, client.offset_encoding) -- sorted by place
    local items = vim.tbl_map(function(place)
      local item = vim.iter(found):find(function(each) return each.user_data == place end)
      item.text = ('%s %s %s'):format(padded(place.role, 11), padded(place.label, 20), place.text)
      return item
    end, answer.places)
    vim.fn.setqflist({}, ' ', { title = TITLE, items = items })
    vim.cmd('botright copen')
  end)
end

---@param client vim.lsp.Client
---@param argument? table
function M.copy(client, argument)
  ask(client, 'hotlens.server.describe', argument, function(answer)
    local register = vim.v.register
    vim.fn.setreg(register, answer.markdown)
    require('hotlens.messages').status(('Hotlens: copied as Markdown into register %s'):format(register))
  end)
end

return M
