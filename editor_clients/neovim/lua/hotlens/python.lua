-- Which Python runs the training script: the setting, the active environment, the workspace's environment, python3 on PATH.
local M = {}

local function first_executable(candidates)
  for _, each in ipairs(candidates) do
    if each.path ~= '' and vim.fn.executable(each.path) == 1 then return each end
  end
end

local function in_environment(folder, name)
  if vim.fn.has('win32') == 1 then return vim.fs.joinpath(folder, 'Scripts', name .. '.exe') end
  return vim.fs.joinpath(folder, 'bin', name)
end
M.in_environment = in_environment

--- The folders of virtual environments in the workspace, most likely first.
---@param root string?
---@return string[]
function M.workspace_environments(root)
  local found = {}
  for _, name in ipairs(root and { '.venv', 'venv' } or {}) do
    local folder = vim.fs.joinpath(root, name)
    if vim.uv.fs_stat(folder) then table.insert(found, folder) end
  end
  return found
end

---@param root string?
---@return { path: string, origin: string }?
function M.find(root)
  local setting = require('hotlens.config').read().python
  if setting then return { path = vim.fs.normalize(setting), origin = 'vim.g.hotlens.python' } end
  local candidates = {}
  if vim.env.VIRTUAL_ENV then table.insert(candidates, { path = in_environment(vim.env.VIRTUAL_ENV, 'python'), origin = 'VIRTUAL_ENV' }) end
  for _, folder in ipairs(M.workspace_environments(root)) do
    table.insert(candidates, { path = in_environment(folder, 'python'), origin = vim.fs.basename(folder) .. ' of the workspace' })
  end
  for _, name in ipairs({ 'python3', 'python' }) do
    table.insert(candidates, { path = vim.fn.exepath(name), origin = 'PATH' })
  end
  return first_executable(candidates)
end

return M
