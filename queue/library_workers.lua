-- What workers may do beside claiming: a task a second time, leaving in peace. Continues library.lua (same chunk).

local STRAGGLER_MS, STRAGGLER_TIMES, STRAGGLER_LOOK = 1000, 4, 16

-- whether task `index` of a step is a straggler: half of the step is done and this one takes several times what those took
local function straggling(k, tasks, done, index, now, token)
    if done * 2 < tasks then return false end
    local f = call('HMGET', k, 'o:' .. index, 's:' .. index, 'x:' .. index, 'ms')
    if not f[1] or not f[2] or (f[3] and f[3] ~= token) or not f[4] then return false end
    return now - tonumber(f[2]) > math.max(STRAGGLER_MS, STRAGGLER_TIMES * tonumber(f[4]) / done)
end

-- assist(token, build) -> task or nil: for a worker with nothing to claim. The first result is kept, the other is compared
-- with it; who holds the task keeps its lease. Leases that end soonest come first: their workers may be gone.
local function assist(keys, args)
    local now = now_ms()
    for _, member in ipairs(call('ZRANGE', P .. 'lease', 0, STRAGGLER_LOOK - 1)) do
        local id, kind, epoch, index = parse_member(member)
        local j = call('HMGET', P .. 'j:' .. id, 'tasks', 'epoch', 'kind', 'build', 'stop', 'done')
        local k = P .. 'k:' .. id .. ':' .. epoch
        if j[1] and tonumber(j[1]) > 1 and j[2] == epoch and j[3] == kind and j[4] == args[2] and j[5] == ''
            and straggling(k, tonumber(j[1]), tonumber(j[6]), index, now, args[1]) then
            if call('HSET', k, 'x:' .. index, args[1]) == 1 then count('assisted') end   -- else it asks once more
            return task_reply(load(id), index, args[1])
        end
    end
    return nil
end

-- drain(worker, 1|0) -> 1 when such a worker beats: it takes no more tasks, or takes them again
local function drain(keys, args)
    if args[2] == '1' then call('SADD', P .. 'drain', args[1]) else call('SREM', P .. 'drain', args[1]) end
    for _, worker in ipairs(call('SMEMBERS', P .. 'drain')) do
        if worker ~= args[1] and not call('ZSCORE', P .. 'workers', worker) then call('SREM', P .. 'drain', worker) end
    end
    return call('ZSCORE', P .. 'workers', args[1]) and 1 or 0
end

-- library(build) -> flat version, "<ms> <build>" ..: which versions of these functions were loaded, first when and by which
-- build. A process that gets an answer has its own.
local function library(keys, args)
    call('HSETNX', P .. 'libs', V, int(now_ms()) .. ' ' .. args[1])
    return call('HGETALL', P .. 'libs')
end

register('library', library, {'allow-oom'})
register('assist', assist, {'allow-oom'})
register('drain', drain, {'allow-oom'})
