-- What is seen of the lowest level: what ran there, added up, and its events for Perfetto.
local M = {}

local words = require('hotlens.timeline_words')

local MOST = 4 -- of each list

-- The seen window as the server is told it.
local function params_of(level, looked)
  local params = { from = level.window[1], to = level.window[2] }
  if looked.recording then
    params.recording = true
  else
    params.path = looked.path
  end
  return params
end

-- Longest first; those that a line cannot tell apart are one.
local function kinds_of(uses)
  local kinds, by_name = {}, {}
  for _, use in ipairs(uses) do
    local name = use.short:gsub('^aten::', '')
    local kind = by_name[name]
    if not kind then
      kind = { name = name, calls = 0, time = 0 }
      by_name[name] = kind
      table.insert(kinds, kind)
    end
    kind.calls, kind.time = kind.calls + use.calls, kind.time + use.time
  end
  table.sort(kinds, function(a, b) return a.time ~= b.time and a.time > b.time or a.time == b.time and a.name < b.name end)
  return kinds
end

local function list(name, uses, more)
  if #uses == 0 then return {} end
  local told, rest, left = {}, more and more.time or 0, more and more.count or 0
  for index, use in ipairs(kinds_of(uses)) do
    if index <= MOST then
      table.insert(told, ('%s ×%d %s'):format(use.name, use.calls, words.time(use.time)))
    else
      rest, left = rest + use.time, left + 1
    end
  end
  if left > 0 then table.insert(told, ('%d more %s'):format(left, words.time(rest))) end
  return { ('  %s: %s'):format(name, table.concat(told, ' · ')) }
end

--- The lines that say what ran between two moments.
---@param sums table  the answer to "range"
---@return string[]
function M.lines(sums)
  local length = sums.to - sums.from
  local busy = sums.device > 0
      and (', the device busy for %s (%.0f %%)'):format(words.time(sums.device), 100 * sums.device / math.max(1, length))
    or ''
  local lines = { ('Σ %s, from %s to %s%s'):format(words.time(length), words.time(sums.from), words.time(sums.to), busy) }
  vim.list_extend(lines, list('kernels', sums.kernels, sums.moreKernels))
  return vim.list_extend(lines, list('operators', sums.operators, sums.moreOperators))
end

---@param request fun(method: string, params: table, done: fun(answer: table))
---@param done fun(lines: string[])
function M.sum(request, level, looked, done)
  request('range', params_of(level, looked), function(sums) done(M.lines(sums)) end)
end

---@param request fun(method: string, params: table, done: fun(answer: table))
---@param say fun(note: string)
function M.export(request, level, looked, say)
  request('export', params_of(level, looked), function(saved)
    vim.ui.input({ prompt = 'Save for Perfetto as: ', default = saved.name, completion = 'file' }, function(path)
      if not path or path == '' then return end
      local file, failed = io.open(vim.fs.normalize(path), 'w')
      if not file then return say(('Nothing was saved: %s'):format(failed)) end
      file:write(saved.text)
      file:close()
      say(('%s holds what is seen; open it at ui.perfetto.dev.'):format(path))
    end)
  end)
end

return M
