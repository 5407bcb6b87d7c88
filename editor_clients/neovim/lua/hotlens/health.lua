-- :checkhealth hotlens
local M = {}

local TORCH_TIMEOUT_MS = 20000 -- importing torch from a cold disk takes that long

local function check_server(root)
  local server, tried = require('hotlens.server').find(root)
  if not server then
    vim.health.error(
      'the hotlens program was not found',
      { 'install the Hotlens wheel into the environment that has your torch', 'vim.g.hotlens = { server = "/path/to/hotlens" }' }
    )
    for _, place in ipairs(tried) do
      vim.health.info('tried ' .. place)
    end
    return
  end
  local version, answered
  require('hotlens.server').version(server.path, function(found)
    version, answered = found, true
  end)
  vim.wait(6000, function() return answered end, 20)
  if version then
    vim.health.ok(('server %s, version %s (%s)'):format(server.path, version, server.origin))
  else
    vim.health.error(('%s (%s) does not answer as Hotlens does'):format(server.path, server.origin))
  end
end

local function check_python(root)
  local python = require('hotlens.python').find(root)
  if not python then
    vim.health.error('no Python was found', { 'activate an environment', 'vim.g.hotlens = { python = "/path/to/python" }' })
    return
  end
  vim.health.ok(('Python %s (%s)'):format(python.path, python.origin))
  local ask = { python.path, '-c', 'import torch; print(torch.__version__)' }
  local out = vim.system(ask, { text = true, timeout = TORCH_TIMEOUT_MS }):wait()
  if out.code == 0 then
    vim.health.ok('torch ' .. vim.trim(out.stdout))
  else
    vim.health.warn('this Python has no torch', { 'choose the environment that runs your training' })
  end
end

local function check_client()
  local clients = vim.lsp.get_clients({ name = 'hotlens' })
  if #clients == 0 then vim.health.info('no server is running; one starts with the first Python file') end
  for _, client in ipairs(clients) do
    vim.health.ok(('running for %s, columns in %s'):format(client.root_dir or 'no folder', client.offset_encoding))
  end
end

local function check_config()
  local _, problems = require('hotlens.config').read()
  for _, problem in ipairs(problems) do
    vim.health.warn(problem, { ':help hotlens-configuration' })
  end
  if #problems == 0 then vim.health.ok('configuration') end
end

function M.check()
  vim.health.start('hotlens')
  if vim.fn.has('nvim-0.11') == 0 then return vim.health.error('Neovim 0.11 or newer is needed') end
  local neovim = vim.version()
  vim.health.ok(('Neovim %d.%d.%d'):format(neovim.major, neovim.minor, neovim.patch))
  local open = vim.lsp.get_clients({ name = 'hotlens' })[1]
  local root = open and open.root_dir or vim.fn.getcwd()
  check_server(root)
  check_python(root)
  check_client()
  check_config()
end

return M
