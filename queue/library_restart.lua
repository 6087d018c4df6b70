-- Jobs that start over, and what they keep. Continues library.lua (same chunk).

-- the blob with the best that the job has found; nil: there is none. Of a plan it is plan.json, a contest problem has its own.
local function incumbent_of(job)
    local plan = job['a:plan.json']
    return plan and string.sub(plan, 1, 64) or job['b:incumbent']
end

-- A job that starts over keeps its incumbent: the best so far is shown meanwhile (a plan as artifact plan.json and
-- progress.best, an answer to a problem as progress.cost and .bound) and is what the step that writes artifacts has when the
-- search is cut short (blob `incumbent`). A whole search gives what it would have given at first. -> that step's kind, ''
-- when there is no incumbent
local function keep_incumbent(job)
    local plan, key, blob = job['a:plan.json'], P .. 'j:' .. job.id, incumbent_of(job)
    local shown = job.progress or ''
    local stage = '{"stage":"' .. (job.stop ~= '' and 'emit' or 'read') .. '"'
    local progress = stage
    for _, best in ipairs(plan and {'"best":%b{}'} or blob and {'"cost":%-?%d+', '"bound":%-?%d+'} or {}) do
        best = string.match(shown, best)
        progress = progress .. (best and ',' .. best or '')
    end
    progress = progress .. '}'
    if not pcall(cjson.decode, progress) then progress = stage .. '}' end
    drop_fields(job, 'ab')
    call('HSET', key, 'progress', progress)
    if not blob then return '' end
    if plan then call('HSET', key, 'a:plan.json', plan) end
    call('HSET', key, 'b:incumbent', blob)
    return job.wrapped or ''
end

-- A job starts over: on another build, or because something that its steps left is gone. What was to end early goes
-- straight to the step that writes artifacts.
restart = function(job, build)
    drop_step(job)
    drop_results(job, int(tonumber(job.epoch) - 1))
    local wrap = keep_incumbent(job)
    call('HSET', P .. 'j:' .. job.id, 'build', build, 'search_started', '')
    call('HINCRBY', P .. 'j:' .. job.id, 'attempt', 1)
    if job.stop ~= '' and wrap ~= '' then
        start_step(job, tonumber(job.epoch) + 1, wrap, 1, '', '')
    else
        set_state(job, 'validating')
        start_step(job, tonumber(job.epoch) + 1, job.first, 1, '', wrap)
    end
    event(job, 'restarted', build)
end

-- reset(member, token, error) -> 'restarted' | 'dead' | 'fenced': something that the job's earlier steps left is gone
local function reset(keys, args)
    local job = held_job(args[1], args[2])
    if not job then return 'fenced' end
    count('resets')
    local spent = tonumber(job.attempt) >= JOB_ATTEMPTS
    if job.stop ~= '' and (spent or not incumbent_of(job)) then
        terminal(job, job.stop == 'cancel' and 'cancelled' or 'failed', job.stop == 'cancel' and '' or args[3])
        return 'dead'
    end
    if spent then
        terminal(job, 'dead', args[3])
        return 'dead'
    end
    restart(job, job.build)
    return 'restarted'
end

register('reset', reset, {'allow-oom'})
