-- The user's wishes: vim.g.hotlens, a table or a function that returns one. No setup call.
local M = {}

---@class hotlens.Config
---@field server? string  the hotlens program
---@field python? string  the Python that runs the training script
---@field hints? { enabled?: boolean, minPercent?: number, unit?: string, place?: string, longLine?: integer }
---@field heat? boolean  marks by share beside the lines
---@field symbols? boolean  document symbols with times
---@field predict? { edits?: boolean }
---@field profile? { script?: string, args?: string[], rank?: integer, warmup?: integer, steps?: integer, onSave?: boolean }

-- What each key must be. Nested tables are checked key by key.
local SHAPE = {
  server = 'string',
  python = 'string',
  hints = { enabled = 'boolean', minPercent = 'number', unit = 'string', place = 'string', longLine = 'number' },
  heat = 'boolean',
  symbols = 'boolean',
  predict = { edits = 'boolean' },
  profile = { script = 'string', args = 'table', rank = 'number', warmup = 'number', steps = 'number', onSave = 'boolean' },
}

local function check(value, shape, name, problems)
  local kept = {}
  for key, each in pairs(value) do
    local expected, place = shape[key], name .. '.' .. tostring(key)
    if expected == nil then
      table.insert(problems, place .. ' is not a setting of Hotlens')
    elseif type(expected) == 'table' and type(each) == 'table' then
      kept[key] = check(each, expected, place, problems)
    elseif type(each) == (type(expected) == 'table' and 'table' or expected) then
      kept[key] = each
    else
      table.insert(problems, ('%s must be a %s'):format(place, type(expected) == 'table' and 'table' or expected))
    end
  end
  return kept
end

--- The settings that are understood, and a sentence for each one that is not.
---@return hotlens.Config config
---@return string[] problems
function M.read()
  local value = vim.g.hotlens
  if type(value) == 'function' then value = value() end
  if value == nil then return {}, {} end
  if type(value) ~= 'table' then return {}, { 'vim.g.hotlens must be a table or a function that returns one' } end
  local problems = {}
  local config = check(value, SHAPE, 'vim.g.hotlens', problems)
  table.sort(problems)
  return config, problems
end

--- Puts what the server asks for into the client's settings. What vim.lsp.config('hotlens', …) says wins.
---@param client_config vim.lsp.ClientConfig
function M.apply(client_config)
  local config = M.read()
  local wanted = vim.deepcopy(config)
  wanted.server = nil
  if wanted.hints then wanted.hints.place = nil end -- the server would make lenses of them; they are drawn here
  client_config.settings.hotlens = vim.tbl_deep_extend('force', wanted, client_config.settings.hotlens or {})
end

return M
