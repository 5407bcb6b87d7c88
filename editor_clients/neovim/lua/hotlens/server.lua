-- Which hotlens program is started, for which folder.
--
-- Order: HOTLENS_SERVER, vim.g.hotlens.server, the environment of VIRTUAL_ENV, PATH, the installation this plugin came with, the VS Code
-- extension's program, an environment of the workspace. The last one came with the workspace, perhaps, so it is started only after vim.secure
-- has asked.
local M = {}

local python = require('hotlens.python')

local INSTALL = 'Install the Hotlens wheel into the environment that has your torch, or set vim.g.hotlens = { server = … }.'
local VERSION_TIMEOUT_MS = 5000

---@class hotlens.Server
---@field path string
---@field origin string
---@field version? string

-- <prefix>/share/hotlens/neovim/lua/hotlens/server.lua → <prefix>/bin/hotlens
local function beside_plugin()
  local here = debug.getinfo(1, 'S').source:sub(2)
  return python.in_environment(vim.fs.normalize(vim.fs.joinpath(vim.fs.dirname(here), '../../../../..')), 'hotlens')
end

-- The program that the newest platform package of the VS Code extension carries; empty where none is installed.
local function of_vscode()
  local found = {}
  for _, home in ipairs({ '~/.vscode/extensions', '~/.vscode-server/extensions', '~/.local/share/code-server/extensions' }) do
    vim.list_extend(found, vim.fn.glob(home .. '/hotlens.hotlens-*/dist/server/bin/hotlens', true, true))
  end
  local version = function(path) return vim.version.parse(path:match('hotlens%.hotlens%-([%d.]+%d)') or '0') or vim.version.parse('0') end
  table.sort(found, function(a, b) return vim.version.gt(version(a), version(b)) end)
  return found[1] or ''
end

---@return hotlens.Server?
local function named()
  if vim.env.HOTLENS_SERVER and vim.env.HOTLENS_SERVER ~= '' then return { path = vim.env.HOTLENS_SERVER, origin = 'HOTLENS_SERVER' } end
  local setting = require('hotlens.config').read().server
  if setting then return { path = vim.fs.normalize(setting), origin = 'vim.g.hotlens.server' } end
end

-- One question per environment and session, whatever the answer was; Neovim remembers "allow" and "deny" for later sessions. The folder is
-- asked for, not the program: vim.secure cannot read a binary file.
local trusted = {}
local function is_trusted(folder)
  if trusted[folder] == nil then
    local can_ask = #vim.api.nvim_list_uis() > 0
    if can_ask then vim.api.nvim_echo({ { 'Hotlens was found in an environment of the workspace. May it be started?' } }, true, {}) end
    trusted[folder] = can_ask and vim.secure.read(folder) ~= nil
  end
  return trusted[folder]
end

--- The program to start, or nil and where it was looked for.
---@param root string?
---@return hotlens.Server?
---@return string[] tried
function M.find(root)
  local wish = named()
  if wish then
    if vim.fn.executable(wish.path) == 1 then return wish, {} end
    return nil, { ('%s (%s)'):format(wish.path, wish.origin) }
  end
  local candidates = {
    { path = vim.fn.exepath('hotlens'), origin = 'PATH' },
    { path = beside_plugin(), origin = 'beside this plugin' },
    { path = of_vscode(), origin = 'VS Code extension' },
  }
  if vim.env.VIRTUAL_ENV then
    table.insert(candidates, 1, { path = python.in_environment(vim.env.VIRTUAL_ENV, 'hotlens'), origin = 'VIRTUAL_ENV' })
  end
  local tried = {}
  for _, each in ipairs(candidates) do
    if vim.fn.executable(each.path) == 1 then return each, tried end
    table.insert(tried, ('%s (%s)'):format(each.path ~= '' and each.path or 'hotlens', each.origin))
  end
  for _, folder in ipairs(python.workspace_environments(root)) do
    local path = python.in_environment(folder, 'hotlens')
    local is_there = vim.fn.executable(path) == 1
    if is_there and is_trusted(folder) then return { path = path, origin = 'environment of the workspace' }, tried end
    table.insert(tried, ('%s (environment of the workspace%s)'):format(path, is_there and ', not trusted' or ''))
  end
  return nil, tried
end

--- Asks a program for its version; calls back with nil when it is not Hotlens.
---@param path string
---@param done fun(version: string?)
function M.version(path, done)
  local started = pcall(
    vim.system,
    { path, '--version' },
    { text = true, timeout = VERSION_TIMEOUT_MS },
    function(out) done(out.code == 0 and (out.stdout or ''):match('^hotlens%s+v?(%d+%.%d+%S*)') or nil) end
  )
  if not started then done(nil) end
end

local function explain(tried)
  require('hotlens.messages').notify_once('Hotlens: the hotlens program was not found. ' .. INSTALL, vim.log.levels.WARN)
  for _, place in ipairs(tried) do
    require('hotlens.messages').record({ message = 'tried ' .. place })
  end
end

local function root_of(bufnr)
  for _, marker in ipairs(vim.lsp.config.hotlens.root_markers or {}) do
    local found = vim.fs.root(bufnr, marker)
    if found then return found end
  end
  -- A file of no project (a package's model, say) belongs to the profile that is open.
  local open = vim.lsp.get_clients({ name = 'hotlens' })[1]
  return open and open.root_dir or vim.fs.dirname(vim.api.nvim_buf_get_name(bufnr))
end

local chosen = {} ---@type table<string, hotlens.Server>  by root

--- Chooses the root of a buffer, and starts nothing there when no server is found.
---@param bufnr integer
---@param on_dir fun(root: string)
function M.root(bufnr, on_dir)
  local root = root_of(bufnr)
  if type(vim.lsp.config.hotlens.cmd) ~= 'function' then return on_dir(root) end -- the user's own command
  local server, tried = M.find(root)
  if not server then return explain(tried) end
  M.version(
    server.path,
    vim.schedule_wrap(function(version)
      if not version then
        local message = ('Hotlens: %s (%s) does not answer as Hotlens does. %s'):format(server.path, server.origin, INSTALL)
        return require('hotlens.messages').notify_once(message, vim.log.levels.WARN)
      end
      server.version = version
      chosen[root] = server
      on_dir(root)
    end)
  )
end

---@param dispatchers vim.lsp.rpc.Dispatchers
---@param config vim.lsp.ClientConfig
function M.start(dispatchers, config)
  local server = assert(chosen[config.root_dir] or M.find(config.root_dir), 'the hotlens program was not found')
  require('hotlens.messages').record({ message = ('server: %s (%s)'):format(server.path, server.origin) })
  return vim.lsp.rpc.start({ server.path, 'lsp', '--stdio' }, dispatchers, { cwd = config.root_dir })
end

return M
