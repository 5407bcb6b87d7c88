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

vim.o.columns, vim.o.lines = 180, 60
local harness = require('harness')
harness.begin({ workspace = workspace, workspace_pids = vim.fs.joinpath(here, '../workspace_pids.sh') })

-- What the person did before this step.
local function acted_at_most(number)
  return function(most)
    local acted = 0
    for before = 1, number - 1 do
      local name = scenario.steps[before][1]
      acted = acted + assert(table_of.actions[name], 'how many actions is ' .. name .. '?')
    end
    if acted > most then error(('%d actions'):format(acted), 0) end
  end
end

local function play()
  for number, step in ipairs(scenario.steps) do
    local ok, message = pcall(step[1] == 'actions_at_most' and acted_at_most(number) or harness.steps[step[1]], unpack(step, 2))
    if not ok then return ('step %d %s: %s'):format(number, step[1], tostring(message)) end
  end
end

local function report(failure, seconds)
  io.stdout:write(('%s  neovim  %s: %s (%.1f s)\n'):format(failure and 'FAIL' or 'ok  ', id, scenario.title, seconds))
  if not failure then return end
  io.stdout:write('      ' .. failure:gsub('\n', '\n      ') .. '\n')
  io.stdout:write('      messages: ' .. vim.fn.execute('messages'):gsub('\n', '\n      ') .. '\n')
end

local function run()
  local begun = vim.uv.hrtime()
  local failure = play()
  local screens = os.getenv('HOTLENS_TEST_SCREENS') or ''
  if screens ~= '' then vim.fn.writefile(harness.screen(), vim.fs.joinpath(screens, 'neovim-' .. id .. '.txt')) end
  report(failure, (vim.uv.hrtime() - begun) / 1e9)
  vim.cmd(failure and 'cquit 1' or 'qall!')
end

-- As a person does: after Neovim has started.
vim.api.nvim_create_autocmd('VimEnter', { once = true, callback = vim.schedule_wrap(run) })
