-- What the hotlens program prints or writes about the shown profile: its report in a buffer, its exports as files.
local M = {}

M.FORMATS = { 'perfetto', 'speedscope', 'csv', 'json', 'parquet' }

local TIMEOUT_MS = 120000

-- Runs a verb of the server's own program on the shown profile; calls back with what it printed.
local function run(client, verb, arguments, done)
  local params = { textDocument = vim.lsp.util.make_text_document_params() }
  client:request('hotlens/profileState', params, function(err, state)
    local profile = state and state.profile
    if err or not profile then
      return require('hotlens.messages').notify(
        'Hotlens: ' .. (err and err.message or 'no profile yet. Profile the script first.'),
        vim.log.levels.WARN
      )
    end
    local shown = profile.folder ~= '' and profile.folder or profile.source -- of a trace there is no folder
    local server = require('hotlens.server').find(client.root_dir)
    local command = vim.list_extend({ server and server.path or 'hotlens', verb, shown }, arguments)
    local ended = vim.schedule_wrap(function(out)
      if out.code == 0 then return done(out.stdout or '') end
      require('hotlens.messages').notify('Hotlens: ' .. vim.trim(out.stderr or ''):gsub('.*\n', ''), vim.log.levels.ERROR)
    end)
    local started, problem = pcall(vim.system, command, { text = true, timeout = TIMEOUT_MS }, ended)
    if not started then require('hotlens.messages').notify('Hotlens: ' .. tostring(problem), vim.log.levels.ERROR) end
  end)
end

--- Shows the report in a window of its own; `q` closes it.
---@param client vim.lsp.Client
function M.report(client)
  run(client, 'report', {}, function(text)
    vim.cmd.new()
    local buffer = vim.api.nvim_get_current_buf()
    vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].swapfile = 'nofile', 'wipe', false
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(vim.trim(text), '\n'))
    vim.bo[buffer].modifiable, vim.bo[buffer].filetype = false, 'hotlens-report'
    vim.wo.wrap = false
    vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buffer, desc = 'Close the report' })
    require('hotlens.float').explain(buffer, 'Report', { { 'q', 'close' } })
  end)
end

--- Writes the profile for other tools.
---@param client vim.lsp.Client
---@param format string?
---@param file string?
function M.export(client, format, file)
  if not vim.list_contains(M.FORMATS, format) or not file then
    return require('hotlens.messages').notify(
      ('Hotlens: use :Hotlens export %s FILE.'):format(table.concat(M.FORMATS, '|')),
      vim.log.levels.ERROR
    )
  end
  local path = vim.fs.abspath(vim.fn.expand(file))
  run(
    client,
    'export',
    { '--to', format, '--output', path },
    function() require('hotlens.messages').notify(('Hotlens: %s is written.'):format(path)) end
  )
end

return M
