-- nvim -l find_server.lua PLUGIN_DIR: which program the plugin finds where none is on PATH: the newest that a VS Code extension carries.
local home = vim.fn.tempname()
vim.opt.runtimepath:prepend(arg[1])
vim.env.HOME, vim.env.PATH, vim.env.VIRTUAL_ENV, vim.env.HOTLENS_SERVER = home, '/nonexistent', nil, nil

local function carries(extensions, version)
  local folder = ('%s/%s/hotlens.hotlens-%s-linux-x64/dist/server/bin'):format(home, extensions, version)
  vim.fn.mkdir(folder, 'p')
  vim.fn.writefile({ '#!/bin/sh', 'echo hotlens ' .. version }, folder .. '/hotlens')
  vim.uv.fs_chmod(folder .. '/hotlens', 493) -- 755
  return folder .. '/hotlens'
end

local server = require('hotlens.server')
local none, tried = server.find(nil)
assert(none == nil, vim.inspect(none))
assert(vim.iter(tried):any(function(place) return place:find('PATH', 1, true) end), vim.inspect(tried))

carries('.vscode/extensions', '0.9.2')
local newest = carries('.vscode-server/extensions', '0.10.0')
carries('.vscode/extensions', '0.2.11')
local found = server.find(nil)
assert(found.path == newest and found.origin == 'VS Code extension', vim.inspect(found))

local version
server.version(newest, function(answer) version = answer end)
vim.wait(5000, function() return version ~= nil end)
assert(version == '0.10.0', vim.inspect(version))
vim.fn.delete(home, 'rf')
