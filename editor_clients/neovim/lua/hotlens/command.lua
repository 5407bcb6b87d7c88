-- :Hotlens profile | arguments | configuration | cancel | hot [pick] | next | previous | history | baseline [clear] | whatif | silenced [clear]
--   | interpreter | calls | copy | unit [time | share | memory | throughput] | timeline [browser | text] | report | export FORMAT FILE | restart | output | log
local M = {}

local RESTART_TIMEOUT_MS = 3000

-- A client that is being stopped would answer every request with an error.
local function client_here()
  local function running(filter)
    return vim.iter(vim.lsp.get_clients(filter)):find(function(client) return not client:is_stopped() end)
  end
  return running({ name = 'hotlens', bufnr = 0 }) or running({ name = 'hotlens' })
end

local function with_client(act)
  local client = client_here()
  if client then return act(client) end
  require('hotlens.messages').notify(
    'Hotlens: no server is running. Open a Python file; :checkhealth hotlens says what is missing.',
    vim.log.levels.WARN
  )
end

local function execute(command)
  with_client(function(client) client:exec_cmd({ title = command, command = command }, { bufnr = vim.api.nvim_get_current_buf() }) end)
end

-- What was silenced: a list to choose from, or all of it told again.
local function silenced(how)
  with_client(function(client)
    local arguments = { how == 'clear' and { all = true } or vim.empty_dict() }
    client:request('workspace/executeCommand', { command = 'hotlens.server.tellAgain', arguments = arguments }, function(err, answer)
      local told = answer and not answer.asked and answer.told > 0
      if err or told then require('hotlens.messages').status('Hotlens: ' .. (err and err.message or answer.told .. ' told again')) end
    end)
  end)
end

local function unit(name)
  with_client(function(client)
    local arguments = { name and { unit = name } or vim.empty_dict() }
    client:request(
      'workspace/executeCommand',
      { command = 'hotlens.server.hintUnit', arguments = arguments },
      function(err, answer) require('hotlens.messages').status('Hotlens: ' .. (err and err.message or 'hints show ' .. answer.unit)) end
    )
  end)
end

local function restart()
  local clients = vim.lsp.get_clients({ name = 'hotlens' })
  for _, client in ipairs(clients) do
    if not vim.lsp.codelens.enable then vim.lsp.codelens.clear(client.id) end -- 0.12 does it itself
    client.request = function() return false end -- Neovim asks on while it waits; a server that was shut down answers with errors
  end
  vim.lsp.enable('hotlens', false)
  for _, client in ipairs(clients) do
    client:stop() -- older versions of Neovim leave that to us
  end
  -- A client calls itself stopped as soon as it is asked to stop; it is forgotten when its server has ended.
  local ended = function()
    return vim.iter(clients):all(function(client) return vim.lsp.get_client_by_id(client.id) == nil end)
  end
  if not vim.wait(RESTART_TIMEOUT_MS, ended, 20) then
    for _, client in ipairs(clients) do
      client.rpc.terminate()
    end
  end
  vim.lsp.enable('hotlens')
end

local SUBCOMMANDS = {
  profile = function() execute('hotlens.server.profile') end,
  arguments = function() execute('hotlens.server.setArguments') end,
  configuration = function() execute('hotlens.server.chooseRun') end,
  interpreter = function() execute('hotlens.server.chooseInterpreter') end,
  cancel = function() execute('hotlens.server.cancel') end,
  calls = function() with_client(require('hotlens.calls').list) end,
  copy = function() with_client(require('hotlens.calls').copy) end,
  hot = function(how)
    with_client(function(client) require('hotlens.hot_lines').list(client, how) end)
  end,
  next = function()
    with_client(function(client) require('hotlens.hot_lines').go(client, false) end)
  end,
  previous = function()
    with_client(function(client) require('hotlens.hot_lines').go(client, true) end)
  end,
  history = function() with_client(require('hotlens.history').choose) end,
  baseline = function(how)
    with_client(function(client) require('hotlens.history').baseline(client, how) end)
  end,
  whatif = function() execute('hotlens.server.whatIf') end,
  silenced = silenced,
  unit = unit,
  timeline = function(how)
    with_client(function(client) require('hotlens.timeline').open(client, how) end)
  end,
  report = function() with_client(require('hotlens.outputs').report) end,
  export = function(format, file)
    with_client(function(client) require('hotlens.outputs').export(client, format, file) end)
  end,
  restart = restart,
  output = function() require('hotlens.printed').open() end,
  log = function() require('hotlens.messages').open_log() end,
}

-- What `:Hotlens` alone shows, in the order of a first day.
local DOES = {
  { 'profile', 'run the script and show its times' },
  { 'arguments', "set the script's arguments, and run it" },
  { 'configuration', 'choose a run configuration, and run it' },
  { 'interpreter', 'choose the Python that trains, and run the script' },
  { 'cancel', 'stop the run' },
  { 'hot', 'list the costliest lines' },
  { 'next', 'go to the next costliest line' },
  { 'previous', 'go to the one before' },
  { 'timeline', 'show the step, in a browser or as text' },
  { 'calls', 'list where this layer is defined and called' },
  { 'copy', 'copy what is known of this line as Markdown' },
  { 'unit', 'time, share, memory or throughput in hints' },
  { 'history', 'choose the profile that is shown' },
  { 'baseline', 'compare with what is shown now' },
  { 'whatif', 'replay the step with changes that may help' },
  { 'silenced', 'tell again what was silenced' },
  { 'report', 'show the report of the profile' },
  { 'export', 'write the profile for other tools' },
  { 'restart', 'start the server again' },
  { 'output', 'what the script printed, as in a terminal' },
  { 'log', 'what the server wrote' },
}

local function show_commands()
  local lines = vim.tbl_map(function(row) return (' :Hotlens %-14s %s '):format(row[1], row[2]) end, DOES)
  require('hotlens.float').show('Hotlens: commands (:help hotlens says more)', lines)
end

---@param args string[]
function M.run(args)
  if #args == 0 then return show_commands() end
  local subcommand = SUBCOMMANDS[args[1]]
  if subcommand then return subcommand(unpack(args, 2)) end
  require('hotlens.messages').notify(
    ('Hotlens: there is no :Hotlens %s. Use %s.'):format(args[1], table.concat(M.names(), ', ')),
    vim.log.levels.ERROR
  )
end

---@return string[]
function M.names()
  local names = vim.tbl_keys(SUBCOMMANDS)
  table.sort(names)
  return names
end

function M.complete(lead, line)
  local ways = {
    timeline = { 'browser', 'text' },
    baseline = { 'clear' },
    hot = { 'pick' },
    silenced = { 'clear' },
    unit = { 'time', 'share', 'memory', 'throughput' },
    export = require('hotlens.outputs').FORMATS,
  }
  local named = line:match('^%S+%s+(%S+)%s+%S*$')
  if ways[named] then
    return vim.tbl_filter(function(name) return vim.startswith(name, lead) end, ways[named])
  end
  if line:match('^%S+%s+%S+%s') then return {} end
  return vim.tbl_filter(function(name) return vim.startswith(name, lead) end, M.names())
end

return M
