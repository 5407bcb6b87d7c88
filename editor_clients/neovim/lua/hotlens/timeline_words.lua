-- Numbers and names as the text view writes them. Pure.
local M = {}

local TIMES = { { 's', 1e9 }, { 'ms', 1e6 }, { 'µs', 1e3 } }
local SIZES = { { 'TB', 1e12 }, { 'GB', 1e9 }, { 'MB', 1e6 }, { 'kB', 1e3 } }

-- Three significant digits, the unit by size.
local function scaled(number, units, smallest)
  for _, unit in ipairs(units) do
    local value = tonumber(('%.3g'):format(number / unit[2]))
    if value >= 1 then
      local decimals = value >= 100 and 0 or value >= 10 and 1 or 2
      return ('%.' .. decimals .. 'f %s'):format(number / unit[2], unit[1])
    end
  end
  return ('%d %s'):format(number, smallest)
end

---@param ns number
function M.time(ns) return scaled(ns, TIMES, 'ns') end

--- "+1.20 ms", "-30.0 µs"
---@param ns number
function M.signed_time(ns) return (ns < 0 and '-' or '+') .. M.time(math.abs(ns)) end

--- "+9.8 %", "-52 %"
---@param share number
function M.signed_percent(share)
  local value = math.abs(share) * 100
  return ('%s%s %%'):format(share < 0 and '-' or '+', ('%.' .. (value < 9.95 and 1 or 0) .. 'f'):format(value))
end

---@param bytes number
function M.bytes(bytes) return scaled(bytes, SIZES, 'B') end

--- A part of the time of a step or of the recording. The device may be busy for longer than the host takes: nobody believes 103 %.
---@param share number
---@param whole "step"|"recording"
function M.part_of(share, whole)
  return share > 1.005 and ('as long as %.2f %ss'):format(share, whole) or ('%.1f %% of the %s'):format(100 * share, whole)
end

--- Text without control characters, line ends or tabs.
---@param text string
function M.clean(text) return vim.fn.strtrans((text:gsub('[%z%c]', ' '))) end

return M
