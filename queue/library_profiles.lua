-- Device profiles: {t}:prof:<tenant>:<name> hash (last, v:<n> the text of version n), {t}:profs:<tenant> hash name -> last.

-- profile_put(tenant, name, json, versions kept, names at most) -> {version, version before}; {0, 0} when there are too many
local function profile_put(keys, args)
    local key, names = P .. 'prof:' .. args[1] .. ':' .. args[2], P .. 'profs:' .. args[1]
    local last = tonumber(call('HGET', key, 'last') or '0')
    if last > 0 and call('HGET', key, 'v:' .. int(last)) == args[3] then return {last, last} end
    if last == 0 and call('HLEN', names) >= tonumber(args[5]) then return {0, 0} end
    local version = last + 1
    call('HSET', key, 'last', int(version), 'v:' .. int(version), args[3])
    call('HDEL', key, 'v:' .. int(version - tonumber(args[4])))
    call('HSET', names, args[2], int(version))
    return {version, last}
end

-- profile_get(tenant, name, version or 0) -> {version, json}; '' when there is none
local function profile_get(keys, args)
    local key, version = P .. 'prof:' .. args[1] .. ':' .. args[2], tonumber(args[3])
    if version == 0 then version = tonumber(call('HGET', key, 'last') or '0') end
    return {version, call('HGET', key, 'v:' .. int(version)) or ''}
end

register('profile_put', profile_put, {})
register('profile_get', profile_get, {'allow-oom'})
