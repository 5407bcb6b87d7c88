-- The profiles of the workspace: a list to choose the shown one from, and the baseline that hints are compared with.
local M = {}

local function line_of(profile)
  local marks = (profile.shown and '●' or ' ') .. (profile.baseline and 'B' or ' ')
  local step = profile.step and profile.step .. '/step' or '?'
  local changed = #profile.changed > 0 and ('changed: ' .. table.concat(profile.changed, ', ')) or ''
  local parts = { profile.created:sub(1, 16):gsub('T', ' ') .. ' UTC', step, profile.source, profile.commit or '', changed }
  return marks .. ' ' .. vim.iter(parts):filter(function(part) return part ~= '' end):join('  ')
end

local function status(text) require('hotlens.messages').status('Hotlens: ' .. text) end

local function execute(client, command, argument, done)
  client:request('workspace/executeCommand', { command = command, arguments = { argument } }, function(err, answer)
    if err then return status(err.message) end
    if answer.message then return status(answer.message) end
    done(answer)
  end)
end

---@param client vim.lsp.Client
function M.choose(client)
  local params = { textDocument = vim.lsp.util.make_text_document_params() }
  if vim.bo.filetype ~= 'python' then params = vim.empty_dict() end
  client:request('hotlens/history', params, function(err, found)
    if err or #found.profiles == 0 then return status(err and err.message or 'no profile yet; :Hotlens profile makes one') end
    vim.ui.select(found.profiles, { prompt = 'Show the profile', format_item = line_of }, function(profile)
      if not profile then return end
      local argument = { profile = profile.id, uri = params.textDocument and params.textDocument.uri }
      execute(client, 'hotlens.server.showProfile', argument, function() status('shows ' .. profile.id) end)
    end)
  end)
end

---@param client vim.lsp.Client
---@param how? string  'clear'
function M.baseline(client, how)
  local argument = { uri = vim.uri_from_bufnr(0), clear = how == 'clear' }
  execute(
    client,
    'hotlens.server.setBaseline',
    argument,
    function(answer) status(answer.baseline and ('hints are compared with ' .. answer.baseline) or 'hints are compared with nothing') end
  )
end

return M
