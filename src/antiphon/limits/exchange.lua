-- One exchange between a machine (the holder) and the shared limit of one subject. All or nothing, in one step.
--
-- KEYS[1]  a hash: field 'u' is the limit's own state, 'h:<holder>' what one machine has leased and has reported
-- ARGV     holder, number, ttl (us), day, month, mode, channel, subject,
--          8 limits (-1: none), 5 spent (cumulative), 5 spent that was acknowledged, 8 balances needed, 3 known budgets,
--          8 held by turns
-- modes    need: lease at least the balances, or nothing.  ahead: as much of them as can be spared.  return: keep no more.
-- answers  {status, measure, wait (us), holders, time since others were asked (us), 8 balances, 8 used}
--          status 0: done.  1: refused.  2: refused, and other machines are asked to return what they do not use.
--          3: an exchange with a later number was seen.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local MINUTE, KEEP, RECALL, SHARE, AHEAD = 60000000, 600000000, 100000, 0.05, 0.1
local SPENT = {1, 2, 3, 4, 5, 5, 5}      -- which of the 5 amounts counts for
local MEASURE = {1, 2, 3, 4, 6, 7, 8}    -- which measure
local key, holder, number, ttl = KEYS[1], 'h:' .. ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local day, month, mode = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local function numbers(from, count)
  local found = {}
  for i = 1, count do found[i] = tonumber(ARGV[from + i - 1]) end
  return found
end
local limits, spent, acked, needed, known = numbers(9, 8), numbers(17, 5), numbers(22, 5), numbers(27, 8), numbers(35, 3)
local held = numbers(38, 8)
local function zeros() return {0, 0, 0, 0, 0, 0, 0, 0} end

local stored = redis.call('HGET', key, 'u')
local u = stored and cmsgpack.unpack(stored) or {t = now, day = day, month = month, used = zeros(), leased = zeros(), due = 0, asked = 0}
local used, leased = u.used, u.leased
if now > u.t then
  for m = 1, 4 do
    if limits[m] >= 0 then used[m] = math.max(0, used[m] - limits[m] * (now - u.t) / MINUTE) end
  end
  u.t = now
end
if day > u.day then u.day, used[6] = day, 0 end
if month > u.month then u.month, used[7] = month, 0 end
for i = 1, 3 do used[5 + i] = math.max(used[5 + i], known[i]) end

if now >= u.due then  -- leases that were not renewed come back
  local all = redis.call('HGETALL', key)
  u.due = now + ttl
  for i = 1, #all, 2 do
    if all[i] ~= 'u' then
      local other = cmsgpack.unpack(all[i + 1])
      if other.due <= now and all[i] ~= holder then
        for m = 1, 8 do leased[m], other.b[m] = math.max(0, leased[m] - other.b[m]), 0 end
        if other.due + KEEP < now then
          redis.call('HDEL', key, all[i])
        else
          redis.call('HSET', key, all[i], cmsgpack.pack(other))
        end
      elseif other.due > now then
        u.due = math.min(u.due, other.due)
      end
    end
  end
end

stored = redis.call('HGET', key, holder)
local h = stored and cmsgpack.unpack(stored) or {n = 0, due = 0, s = acked, b = zeros()}
local balance = h.b
local function answer(status, measure, wait)
  local said = {status, measure, math.ceil(wait), redis.call('HLEN', key) - 1, math.min(now - u.asked, MINUTE)}
  for m = 1, 8 do said[5 + m] = math.floor(balance[m]) end
  for m = 1, 8 do said[13 + m] = math.ceil(used[m] - 0.000001) end
  return said
end
if number <= h.n then return answer(3, 0, 0) end
h.n = number
for i = 1, 7 do
  local m, amount = MEASURE[i], math.max(0, spent[SPENT[i]] - h.s[SPENT[i]])
  used[m] = used[m] + amount
  local taken = math.min(balance[m], amount)
  balance[m], leased[m] = balance[m] - taken, leased[m] - taken
end
for i = 1, 5 do h.s[i] = math.max(h.s[i], spent[i]) end

local status, measure, wait = 0, 0, 0
local most = {}
for m = 1, 8 do
  most[m] = math.floor(limits[m] - used[m] - leased[m] + balance[m] + 0.000001)
  if limits[m] >= 0 and balance[m] < held[m] then  -- it was leased, but is forgotten here
    local anew = math.max(balance[m], math.min(most[m], held[m]))
    leased[m], balance[m] = leased[m] + anew - balance[m], anew
  end
  if mode == 'need' and limits[m] >= 0 and most[m] < needed[m] and balance[m] < needed[m] then
    local time = -1
    if m <= 4 then time = (needed[m] - most[m]) / limits[m] * MINUTE elseif m == 5 then time = 1000000 end
    if status == 0 or time < 0 or (wait >= 0 and time > wait) then status, measure, wait = 1, m, time end
  end
end
if status == 0 then
  for m = 1, 8 do
    local target = balance[m]
    if limits[m] < 0 then
      target = 0
    elseif mode == 'return' then
      target = math.min(target, needed[m])
    elseif mode == 'ahead' then  -- a tenth of what is left, unless that is less than one of the eight that are wanted
      local more = math.min(needed[m] - target, math.floor((most[m] - target) * AHEAD))
      if more * 8 >= needed[m] - target and more > 0 then target = target + more end
    elseif target < needed[m] then
      target = math.min(most[m], needed[m] + math.floor(math.max(0, most[m] - needed[m]) * SHARE))
      target = math.max(target, balance[m])
    end
    leased[m], balance[m] = leased[m] + target - balance[m], target
  end
elseif leased[measure] > balance[measure] then
  if now - u.asked >= RECALL then
    u.asked = now
    redis.call('PUBLISH', ARGV[7], ARGV[8])
  end
  status = 2
end
h.due = now + ttl
u.due = math.min(u.due, h.due)
redis.call('HSET', key, 'u', cmsgpack.pack(u), holder, cmsgpack.pack(h))
if limits[8] >= 0 then redis.call('PERSIST', key) else redis.call('PEXPIRE', key, 40 * 86400000) end
return answer(status, measure, wait)
