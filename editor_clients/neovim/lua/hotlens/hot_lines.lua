-- The costliest lines of the workspace as a quickfix list or in a picker, and the way from one to the next.
local M = {}

local TITLE = 'Hotlens: hot lines'
local BAR_CELLS = 10

-- "▇▇▇▇▇▇    ": full for the first of the list.
local function bar(share, most)
  local cells = most > 0 and math.max(1, math.floor(BAR_CELLS * share / most + 0.5)) or 0
  return ('▇'):rep(cells) .. (' '):rep(BAR_CELLS - cells)
end

local function words(line, most) return ('%s %s  %s'):format(bar(line.share, most), line.label, line.text) end

local function item(line, most)
  return {
    filename = vim.uri_to_fname(line.uri),
    lnum = line.position.line + 1,
    col = line.position.character + 1, -- blanks stand before it, a byte each
    text = words(line, most),
  }
end

local function in_quickfix(lines)
  local most = lines[1].share
  vim.fn.setqflist({}, ' ', { title = TITLE, items = vim.tbl_map(function(line) return item(line, most) end, lines) })
  vim.cmd('botright copen')
end

-- Whatever shows vim.ui.select: telescope, fzf-lua and others replace it.
local function in_picker(client, lines)
  local most = lines[1].share
  vim.ui.select(lines, { prompt = TITLE, format_item = function(line) return words(line, most) end }, function(line)
    if not line then return end
    local range = { start = line.position, ['end'] = line.position }
    vim.lsp.util.show_document({ uri = line.uri, range = range }, client.offset_encoding, { focus = true })
  end)
end

---@param client vim.lsp.Client
---@param how string? "pick": in a picker
function M.list(client, how)
  local params = { textDocument = vim.lsp.util.make_text_document_params() }
  if vim.bo.filetype ~= 'python' then params = vim.empty_dict() end
  client:request('hotlens/hotLines', params, function(err, found)
    if err or #found.lines == 0 then
      return require('hotlens.messages').status('Hotlens: ' .. (err and err.message or 'no hot lines yet; :Hotlens profile finds them'))
    end
    if how == 'pick' then return in_picker(client, found.lines) end
    in_quickfix(found.lines)
  end)
end

---@param client vim.lsp.Client
---@param back boolean
function M.go(client, back)
  local row = vim.api.nvim_win_get_cursor(0)[1]
  local here = { uri = vim.uri_from_bufnr(0), position = { line = row - 1, character = 0 }, back = back }
  local command = { command = 'hotlens.server.hotLine', arguments = { here } }
  client:request('workspace/executeCommand', command, function(err, shown)
    if err then return require('hotlens.messages').status('Hotlens: ' .. err.message) end
    if not shown.rank then return end
    require('hotlens.messages').status(('Hotlens: hot line %d of %d: %s'):format(shown.rank, shown.total, shown.label))
  end)
end

return M
