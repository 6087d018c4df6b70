-- What metrics need beside the counters of {t}:n.

-- slots_wanted() -> tasks that could be worked on now: held by somebody or waiting (of the first thousand jobs with any)
local function slots_wanted()
    local wanted = call('ZCARD', P .. 'lease')
    for _, id in ipairs(call('ZRANGE', P .. 'run', 0, 999)) do wanted = wanted + call('ZCARD', P .. 'p:' .. id) end
    return wanted
end

register('slots_wanted', slots_wanted, {'allow-oom'})
