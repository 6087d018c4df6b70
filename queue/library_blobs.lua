-- Which blobs are referred to: what a collection (server/resources/collect.c) must know of Redis.
--
--   {t}:collector   string: who collects, with a time to live; at most one does
--   {t}:moved       set, while somebody collects: digests whose reference went from one key to another meanwhile, so that
--                   a walk through the keys may have missed both (library_jobs.lua's `moved`)
--
-- The walk is conservative: 64 hex digits in any value (or field's name) of any key count as a reference, whoever wrote it. A new kind of
-- key needs no change here.

local COLLECT_MS = 60000
-- keys without digests that may be large
local NO_DIGESTS = {idx = true, st = true, open = true, run = true, r = true, lease = true, dl = true, arch = true,
                    purge = true, dead = true, q = true, ev = true, p = true, k = true, n = true, moved = true}

-- collect_begin(token, every_ms) -> 1: the caller collects; 0: somebody does, or did less than every_ms ago
local function collect_begin(keys, args)
    local last, now = tonumber(call('HGET', P .. 'n', 'collected_ms') or '0'), now_ms()
    local holder = call('GET', P .. 'collector')
    if holder then return holder == args[1] and 1 or 0 end
    if now >= last and now - last < tonumber(args[2]) then return 0 end
    call('SET', P .. 'collector', args[1], 'PX', COLLECT_MS)
    call('DEL', P .. 'moved')
    return 1
end

local function still_mine(token)
    if call('GET', P .. 'collector') ~= token then return false end
    call('PEXPIRE', P .. 'collector', COLLECT_MS)
    return true
end

local function add_digests(text, out)
    for run in string.gmatch(text, '%x+') do
        if #run == 64 then out[#out + 1] = run end
    end
end

local READ = {
    hash = function(key) return call('HGETALL', key) end,
    string = function(key) return {call('GET', key) or ''} end,
    set = function(key) return call('SMEMBERS', key) end,
    zset = function(key) return call('ZRANGE', key, 0, -1) end,
    list = function(key) return call('LRANGE', key, 0, -1) end,
}

-- collect_walk(token, cursor) -> {next cursor, digests, archive blobs (to be read: they name others)}; nil: another collects
local function collect_walk(keys, args)
    if not still_mine(args[1]) then return nil end
    local step = call('SCAN', args[2], 'MATCH', P .. '*', 'COUNT', 100)
    local digests, archives = {}, {}
    for _, key in ipairs(step[2]) do
        local kind = string.match(key, '^{t}:(%a+)') or ''
        local read = not NO_DIGESTS[kind] and READ[call('TYPE', key).ok]
        local deltas = kind == 'd'   -- large and binary, but 'b' and a digest where the result is a blob
        for _, value in ipairs(read and read(key) or {}) do
            if not deltas or (#value == 65 and string.sub(value, 1, 1) == 'b') then
                add_digests(deltas and string.sub(value, 2) or value, digests)
            end
        end
        if kind == 'o' then archives[#archives + 1] = call('HGET', key, 'blob') or nil end
    end
    return {step[1], digests, archives}
end

-- collect_moved(token) -> digests; nil: another collects. After this nothing that the walk found can become unknown.
local function collect_moved(keys, args)
    if not still_mine(args[1]) then return nil end
    return call('SMEMBERS', P .. 'moved')
end

-- collect_end(token, '1' when it was whole, kept, kept bytes, removed, removed bytes)
local function collect_end(keys, args)
    if call('GET', P .. 'collector') ~= args[1] then return 0 end
    call('DEL', P .. 'collector', P .. 'moved')
    if args[2] == '1' then
        call('HSET', P .. 'n', 'collected_ms', int(now_ms()), 'blobs', args[3], 'blob_bytes', args[4])
        count('collections')
    end
    count('blobs_removed', args[5])
    count('blob_bytes_removed', args[6])
    return 1
end

register('collect_begin', collect_begin, {'allow-oom'})
register('collect_walk', collect_walk, {'allow-oom'})
register('collect_moved', collect_moved, {'allow-oom'})
register('collect_end', collect_end, {'allow-oom'})
