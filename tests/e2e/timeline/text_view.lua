-- nvim --headless -l text_view.lua PLUGIN HOTLENS: the text view on the real server, which shows a trace that is written here. Prints
-- "N passed, N failed". What is drawn is tested in tests/unit/text and tests/unit/timeline.
vim.opt.rtp:append(_G.arg[1])
local passed, failed = 0, 0

local function test(name, run)
  local ok, message = pcall(run)
  if ok then
    passed = passed + 1
  else
    failed = failed + 1
    print('FAIL  text view  ' .. name .. ': ' .. message)
  end
end

local function same(expected, actual)
  if not vim.deep_equal(expected, actual) then error(('expected %s, got %s'):format(vim.inspect(expected), vim.inspect(actual)), 2) end
end

-- Three steps, each with a module that holds two operators; the second step has an operator of its own.
local function trace()
  local events, id = {}, 0
  local function event(category, name, start, duration, args)
    table.insert(events, { ph = 'X', cat = category, name = name, pid = 1, tid = 1, ts = start, dur = duration, args = args })
  end
  for step = 0, 2 do
    local at = 1000 + 1000 * step
    event('user_annotation', 'ProfilerStep#' .. step, at, 1000, vim.empty_dict())
    event('python_function', 'nn.Module: Evil\27[2J漢_0', at + 10, 900, { ['Python id'] = id + 1 })
    event('python_function', 'nn.Module: Linear_0', at + 20, 800, { ['Python id'] = id + 2, ['Python parent id'] = id + 1 })
    event('cpu_op', 'aten::linear', at + 21, 400, vim.empty_dict())
    event('cpu_op', step == 1 and 'aten::rare' or 'aten::relu', at + 430, 200, vim.empty_dict())
    id = id + 2
  end
  return vim.json.encode({ schemaVersion = 1, traceEvents = events })
end

local folder = vim.fn.tempname()
vim.fn.mkdir(folder, 'p')
vim.fn.writefile({ trace() }, folder .. '/x.pt.trace.json')
vim.fn.writefile({ 'pass' }, folder .. '/train.py')
vim.cmd.cd(folder)
vim.g.hotlens = { server = _G.arg[2] }
local told = {} ---@type string[]
vim.notify = function(message) table.insert(told, message) end
vim.cmd.edit('train.py')
local settings = { hotlens = { profile = { trace = 'x.pt.trace.json' } } }
local function start()
  local id = assert(vim.lsp.start(vim.tbl_extend('force', vim.lsp.config['hotlens'], { root_dir = folder, settings = settings })))
  return assert(vim.lsp.get_client_by_id(id))
end
local client = start()
local asked, request = {}, client.request
client.request = function(self, method, params, ...)
  table.insert(asked, { method:match('[^/]+$'), params })
  return request(self, method, params, ...)
end
local view = require('hotlens.timeline_view')

local function lines() return vim.api.nvim_buf_get_lines(0, 0, -1, false) end
local function shows(wanted)
  local text
  local seen = vim.wait(10000, function()
    text = table.concat(lines(), '\n')
    return text:find(wanted, 1, true) ~= nil
  end, 5)
  if not seen then error(('"%s" is not in\n%s\n%s'):format(wanted, text, table.concat(told, '\n')), 2) end
end
local function press(keys) vim.api.nvim_feedkeys(vim.keycode(keys), 'xt', false) end
-- What an input gets as its answer.
local function with_input(answer, run)
  local input = vim.ui.input
  vim.ui.input = function(options, done) done(answer(options)) end
  run()
  vim.ui.input = input
end

local function groups_of(line)
  local namespace = vim.api.nvim_create_namespace('hotlens.timeline')
  return vim
    .iter(vim.api.nvim_buf_get_extmarks(0, namespace, { line, 0 }, { line, -1 }, { details = true }))
    :map(function(mark) return mark[4].hl_group end)
    :totable()
end

test('the step is shown, its chosen block is under the cursor and highlighted, the keys stand last', function()
  view.open(client)
  same('Reading the profile …', lines()[1])
  shows('▸ forward')
  same(true, vim.startswith(lines()[1], 'step '))
  same({ 3, 19 }, vim.api.nvim_win_get_cursor(0))
  same({ 'HotlensTitle' }, groups_of(0))
  same('HotlensSelected', groups_of(2)[1])
  same(true, lines()[#lines()]:find('q close', 1, true) ~= nil)
  for _, line in ipairs(lines()) do
    same(nil, line:find('%c'))
    if line:find('CPU', 1, true) == 1 then same(vim.o.columns - 1, vim.api.nvim_strwidth(line)) end
  end
end)

test('keys that are pressed while an answer is awaited take effect in their order, with one more request', function()
  local before = #asked
  for _, key in ipairs({ '<CR>', '<CR>', 'l' }) do -- in one go: no answer comes in between
    vim.fn.maparg(key, 'n', false, true).callback()
  end
  shows('▸ aten::relu')
  same(2, #asked - before)
  same({ 'open', 'right' }, vim.tbl_map(function(action) return action.does end, asked[#asked][2].actions))
  press('<BS>')
  shows('▸ Linear_0')
  press('<BS>')
  shows('▸ forward')
end)

test('a search is followed into the step that has it, n and N go on', function()
  with_input(function() return 'rare' end, function() press('/') end)
  shows('1 of 1: aten::rare')
  same(true, vim.startswith(lines()[1], 'step 1 '))
  press('N')
  shows('1 of 1: aten::rare')
  with_input(function() return '' end, function() press('/') end)
  press('[')
  shows('step 0 ')
end)

test('the picture is as wide as the window, also after it was resized', function()
  local timeline = vim.api.nvim_get_current_win()
  local function is_wide(columns)
    vim.api.nvim_exec_autocmds('VimResized', { buffer = vim.api.nvim_win_get_buf(timeline) })
    return vim.wait(2000, function() return vim.api.nvim_strwidth(lines()[3]) == columns end, 5)
  end
  vim.cmd('rightbelow 19vnew') -- and a column between them
  local beside = vim.api.nvim_get_current_win()
  vim.api.nvim_set_current_win(timeline)
  same(true, is_wide(59))
  vim.api.nvim_win_close(beside, true)
  same(true, is_wide(79))
end)

test('what is seen is saved for Perfetto, of a step and of the recording', function()
  for _, key in ipairs({ '', 'o' }) do
    press(key)
    if key == 'o' then shows('recording  ') end
    local path = vim.fn.tempname()
    with_input(function(options) return options.default:find('.json', 1, true) and path end, function()
      press('p')
      vim.wait(10000, function() return vim.fn.filereadable(path) == 1 end, 5)
    end)
    same(true, #vim.json.decode(table.concat(vim.fn.readfile(path))).traceEvents > 3)
    vim.fn.delete(path)
  end
  same(true, told[#told]:find('open it at ui.perfetto.dev', 1, true) ~= nil)
  press('<CR>')
  shows('step 0 ')
end)

test('a block without a line says so, one that was chosen elsewhere is shown', function()
  press('gd')
  shows('No line is known for this block.')
  view.select({ step = 2, path = { 'forward' } })
  shows('step 2 ')
end)

test('what the server refuses is said, and the picture stays', function()
  local before = lines()
  view.select({ profile = 'nobody', path = {} })
  same(true, vim.wait(10000, function() return told[#told]:find('nobody', 1, true) ~= nil end, 5))
  same(before, lines())
  press('l')
  press('o')
  shows('recording  ')
end)

test('an answer to a view that was closed changes nothing; it opens again', function()
  press('l')
  press('q')
  same(false, view.is_open())
  vim.wait(200)
  same(false, view.is_open())
  view.open(client, { step = 1, path = { 'forward' } })
  shows('step 1 ')
  view.reload()
  shows('step 0 ')
  press('q')
end)

test('where the server has stopped that is said, and the next one is asked', function()
  view.open(client)
  shows('▸ forward')
  press('<CR>')
  shows('▸ Linear_0')
  press('<CR>')
  shows('▸ aten::linear')
  press('l') -- is never answered
  client:stop(true)
  press('l')
  same(true, told[#told]:find('the server has stopped', 1, true) ~= nil)
  client = start()
  view.open(client)
  local answered = vim.wait(10000, function() -- it does not know of the trace at once
    press('o')
    return vim.startswith(lines()[1], 'recording')
  end, 50)
  same(true, answered)
end)

client:stop()
vim.fn.delete(folder, 'rf')
print(('%d passed, %d failed'):format(passed, failed))
vim.cmd(failed > 0 and 'cquit 1' or 'qall!')
