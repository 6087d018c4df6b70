-- Who uses the service: API keys. Continues library.lua (same chunk).
--
--   {t}:keys   hash: key id -> record (queue/keys.h);  {t}:keysv: number of its changes

-- key_add(id, record) -> 'ok' | 'exists'
local function key_add(keys, args)
    local old = call('HGET', P .. 'keys', args[1])
    if old and old ~= args[2] then return 'exists' end
    if not old then
        call('HSET', P .. 'keys', args[1], args[2])
        call('INCR', P .. 'keysv')
    end
    return 'ok'
end

-- key_revoke(id, '1': even the last) -> 'ok' | 'missing' | 'last'
local function key_revoke(keys, args)
    if call('HEXISTS', P .. 'keys', args[1]) == 0 then return 'missing' end
    if args[2] ~= '1' and call('HLEN', P .. 'keys') == 1 then return 'last' end
    call('HDEL', P .. 'keys', args[1])
    call('INCR', P .. 'keysv')
    return 'ok'
end

register('key_add', key_add, {'allow-oom'})
register('key_revoke', key_revoke, {'allow-oom'})
