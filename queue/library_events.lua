-- What metrics need beside the counters of {t}:n, and who watches.

-- slots_wanted() -> tasks that could be worked on now: held by somebody or waiting (of the first thousand jobs with any)
local function slots_wanted()
    local wanted = call('ZCARD', P .. 'lease')
    for _, id in ipairs(call('ZRANGE', P .. 'run', 0, 999)) do wanted = wanted + call('ZCARD', P .. 'p:' .. id) end
    return wanted
end

-- ---- event streams that tenants have open, at all servers ----
--
--   {t}:es:<tenant>  hash: server -> how many, and when it said so (ms); 30 s. Servers say it again every two seconds; what is
--                    older than five is a dead server's, and after 30 it is taken out.

local STREAMS_FRESH_MS, STREAMS_MS = 5000, 30000

local function streams_say(server, tenant, count, now)
    local key = P .. 'es:' .. tenant
    if tonumber(count) == 0 then
        call('HDEL', key, server)
    else
        call('HSET', key, server, int(tonumber(count)) .. ' ' .. int(now))
        call('PEXPIRE', key, STREAMS_MS)
    end
end

-- stream_open(server, tenant, streams there with this one, limit) -> 1, or 0: the tenant would have more than its limit
local function stream_open(keys, args)
    local now, all = now_ms(), tonumber(args[3])
    local said = call('HGETALL', P .. 'es:' .. args[2])
    for i = 1, #said, 2 do
        local count, at = string.match(said[i + 1], '^(%d+) (%d+)$')
        if tonumber(at) < now - STREAMS_MS then
            call('HDEL', P .. 'es:' .. args[2], said[i])   -- it will not come back: ids are of processes
        elseif said[i] ~= args[1] and tonumber(at) > now - STREAMS_FRESH_MS then
            all = all + tonumber(count)
        end
    end
    if all > tonumber(args[4]) then return 0 end
    streams_say(args[1], args[2], args[3], now)
    return 1
end

-- streams_beat(server, tenant, streams, tenant, streams ...)
local function streams_beat(keys, args)
    for i = 2, #args, 2 do streams_say(args[1], args[i], args[i + 1], now_ms()) end
    return 1
end

register('stream_open', stream_open, {'allow-oom'})
register('streams_beat', streams_beat, {'allow-oom'})
register('slots_wanted', slots_wanted, {'allow-oom'})
