-- Runs one scenario in this Neovim, prints "ok" or "FAIL" with its title; see run.sh for how it is started (not by -l: the screen would
-- stay at 80 columns). g:hotlens_test says which scenario, HOTLENS_TEST_PYTHON is the Python with torch.
local asked = vim.g.hotlens_test
local id, workspace = asked.id, asked.workspace
local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, 'S').source:sub(2)))
package.path = here .. '/?.lua;' .. package.path

vim.g.loaded_python3_provider = 0
local table_of = vim.json.decode(table.concat(vim.fn.readfile(asked.scenarios), '\n'))
local scenario = vim.iter(table_of.scenarios):find(function(each) return each.id == id end)

vim.g.hotlens = vim.tbl_extend('force', { python = vim.env.HOTLENS_TEST_PYTHON }, table_of.settings, scenario.settings or {})
vim.cmd('filetype on')
vim.cmd.runtime('plugin/hotlens.lua') -- -u NONE loads no plugin

vim.o.columns, vim.o.lines = 150, 60
local harness = require('harness')
harness.begin({ workspace = workspace, workspace_pids = vim.fs.joinpath(here, '../workspace_pids.sh') })

local begun = vim.uv.hrtime()
local failure
for number, step in ipairs(scenario.steps) do
  local ok, message = pcall(harness.steps[step[1]], unpack(step, 2))
  if not ok then
    failure = ('step %d %s: %s'):format(number, step[1], tostring(message))
    break
  end
end
if os.getenv('HOTLENS_TEST_SCREENS') then
  local rows = {}
  vim.cmd('redraw!')
  for row = 1, vim.o.lines do
    local cells = {}
    for column = 1, vim.o.columns do
      cells[column] = vim.fn.screenstring(row, column)
    end
    rows[row] = (table.concat(cells):gsub('%s+$', ''))
  end
  vim.fn.writefile(rows, vim.fs.joinpath(os.getenv('HOTLENS_TEST_SCREENS'), 'neovim-' .. id .. '.txt'))
end

local took = ('%.1f s'):format((vim.uv.hrtime() - begun) / 1e9)
io.stdout:write(('%s  neovim  %s: %s (%s)\n'):format(failure and 'FAIL' or 'ok  ', id, scenario.title, took))
if failure then
  io.stdout:write('      ' .. failure:gsub('\n', '\n      ') .. '\n')
  io.stdout:write('      messages: ' .. vim.fn.execute('messages'):gsub('\n', '\n      ') .. '\n')
end
vim.cmd(failure and 'cquit 1' or 'qall!')
