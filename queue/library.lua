-- The job queue inside Redis: one library of functions, loaded by queue/redis.c, which puts before this text the
-- line that names the library and `local V = '<version>'`. queue/library_*.lua follow it in the same chunk (CMakeLists.txt).
-- Functions carry the version in their names, so that two builds can stand side by side.
--
-- The job hash {t}:j:<id> is the truth; the stream {t}:q only rings. A job is a chain of *steps*: step number
-- `epoch` has a kind and `tasks` tasks. A step of several tasks is followed by one task of kind `join`, which reads
-- what they left in {t}:d:<id>:<epoch>; a step of one task says itself what follows (epoch_commit, finish).
--
--   {t}:j:<id>          hash: the job (b:<name> blobs of the running job, a:<name> artifacts)
--   {t}:p:<id>          zset: task indices of the present step that nobody holds
--   {t}:k:<id>:<epoch>  hash: o:<i> who holds task i, s:<i> since when (ms), x:<i> who does it a second time,
--                       r:<i> digest of its result, c:<i> deaths by its own fault, h:<i> attempts that its hosts lost,
--                       e:<i>:<reason> both by reason, ms what the finished tasks took together
--   {t}:d:<id>:<epoch>  hash: results of the step's tasks, in the bytes that the worker sent
--   {t}:c:<slot>        string: number of the last token of a worker's slot that was given a task, and the task (library_claims.lua)
--   {t}:run             zset: jobs with tasks to claim, oldest first; by tenant in {t}:r:<tenant> (library_tenants.lua)
--                       a step of kind referee waits in {t}:ref:<name> instead (library_referee.lua)
--   {t}:lease           zset: end of lease (ms) -> id/kind/epoch/index
--   {t}:dl              zset: deadline (ms) -> id
--   {t}:q               stream, group w: doorbell. Read with NOACK and deleted by the reader: no pending list, so
--                       trimming it loses nothing but a ring, and workers look by themselves every second.
--   {t}:idx:<tenant>    zset: creation (ms) -> id, all jobs that can be shown;  {t}:st:<tenant>:<state> zset: the same by
--                       state, so that the counter jobs:<state> is the sum of their sizes over the tenants
--   {t}:open:<tenant>   set of its jobs that have not ended
--   {t}:arch            zset: when (ms) an ended job becomes a blob -> id
--   {t}:purge           zset: when (ms) an ended job is forgotten -> id/tenant/state;   {t}:dead zset: end (ms) -> id
--   {t}:o:<id>          hash: what is left of an archived job (blob, state, ver ..) or of a forgotten one (state gone)
--   {t}:idem:<tenant>:<key>, {t}:cache:<tenant>:<digest>   strings: id and request of a key (24 h); id of a finished job
--   {t}:libs            hash: version of a library -> when (ms) it was first loaded and by which build (library_workers.lua)
--   {t}:conf            hash: how long ended jobs are kept (library_jobs.lua)
--   {t}:ev:<id>         stream of events;  {t}:n counters;  {t}:w:<worker> hash, 15 s;  {t}:builds zset of last beats
--
-- Every function is idempotent, because a lost reply is ambiguous. Time is Redis' own.

local P = '{t}:'
local LEASE_MS, GAP_MS, BUILD_GONE_MS = 10000, 3000, 60000
local EVENTS = 1000
local TASK_DEATHS, TASK_HOST_DEATHS, JOB_ATTEMPTS, BACKOFF_MAX_MS = 3, 12, 5, 60000
-- library_tenants.lua: which jobs may be claimed, whose turn it is, what a task costs its tenant
local run_add, run_remove, run_claim, run_next, run_more, run_mend, task_begins, task_ends, step_ends, task_noted, rollouts_noted
local restart   -- library_restart.lua
local claim_noted, claim_before   -- library_claims.lua
local requeue   -- library_reap.lua
local submit_allowed, limits_of, module_used, modules_expire   -- library_tenants.lua too
local REFEREES = {'xla_gpu', 'xla_tpu', 'xla_cpu'}   -- library_referee.lua; api/request.c has the same names
local referee_reap
local webhook_enter   -- library_webhooks.lua
local TERMINAL = {succeeded = true, failed = true, expired = true, cancelled = true, dead = true}

-- redis.call exists only while a function runs, not while the library is loaded
local function call(...)
    return redis.call(...)
end

local function now_ms()
    local t = call('TIME')
    return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

local function int(x)
    return string.format('%.0f', x)
end

local function load(id)
    local flat, job = call('HGETALL', P .. 'j:' .. id), {}
    for i = 1, #flat, 2 do job[flat[i]] = flat[i + 1] end
    if not job.state then return nil end
    job.id = id
    return job
end

local function count(what, by)
    call('HINCRBY', P .. 'n', what, by or 1)
end

-- an entry of the job's stream; progress: the worker's JSON text as of this event, or nil
local function announce(job, name, data, progress)
    local entry = {'event', name, 'ver', job.ver, 'data', data or ''}
    if progress and progress ~= '' then
        entry[#entry + 1] = 'progress'
        entry[#entry + 1] = progress
    end
    if (job.name or '') ~= '' then   -- what the client calls it
        entry[#entry + 1] = 'name'
        entry[#entry + 1] = job.name
    end
    if job.committing then   -- fence of the claim that brought this about
        entry[#entry + 1] = 'fence'
        entry[#entry + 1] = job.committing
    end
    call('XADD', P .. 'ev:' .. job.id, 'MAXLEN', '~', EVENTS, '*', unpack(entry))
end

local function event(job, name, data, progress)
    job.ver = int(call('HINCRBY', P .. 'j:' .. job.id, 'ver', 1))
    call('HSET', P .. 'j:' .. job.id, 'updated', int(now_ms()))
    announce(job, name, data, progress)
end

local function set_state(job, state)
    if job.state == state then return end
    count('jobs:' .. job.state, -1)
    count('jobs:' .. state)
    call('ZREM', P .. 'st:' .. job.tenant .. ':' .. job.state, job.id)
    call('ZADD', P .. 'st:' .. job.tenant .. ':' .. state, job.created, job.id)
    job.state = state
    call('HSET', P .. 'j:' .. job.id, 'state', state)
end

local function ring()
    if call('XLEN', P .. 'q') < 64 then call('XADD', P .. 'q', '*', 'r', '1') end
end

local function member_of(job, index)
    return job.id .. '/' .. job.kind .. '/' .. job.epoch .. '/' .. index
end

local function parse_member(member)
    return string.match(member, '^([^/]+)/([^/]+)/(%d+)/(%d+)$')
end

-- forgets who works on the present step: their leases end, and what they bring later is stale. What some of them brought
-- goes, too: the next step's task must not take it for the results of a whole step.
local function drop_step(job)
    step_ends(job)
    for i = 0, tonumber(job.tasks) - 1 do call('ZREM', P .. 'lease', member_of(job, int(i))) end
    local step = job.id .. ':' .. job.epoch
    call('DEL', P .. 'p:' .. job.id, P .. 'k:' .. step, P .. 'd:' .. step)
    run_remove(job)
end

local function start_step(job, epoch, kind, tasks, join, wrap)
    job.epoch, job.kind, job.tasks, job.join, job.wrap = int(epoch), kind, int(tasks), join, wrap
    if wrap ~= '' then job.wrapped = wrap end   -- the last one there was: for a job that starts over
    call('HSET', P .. 'j:' .. job.id, 'epoch', job.epoch, 'kind', kind, 'tasks', job.tasks, 'done', '0',
         'join', join, 'wrap', wrap, 'wrapped', job.wrapped or '')
    local pending = {}
    for i = 0, tasks - 1 do
        pending[#pending + 1] = i
        pending[#pending + 1] = i
    end
    call('ZADD', P .. 'p:' .. job.id, unpack(pending))
    run_add(job)
    ring()
end

local function drop_results(job, epoch)
    call('DEL', P .. 'd:' .. job.id .. ':' .. epoch, P .. 'k:' .. job.id .. ':' .. epoch)
end

-- how long, in ms: until an ended job is archived, forgotten (dead: another), and its id answers 410
local KEEP = {archive_ms = 3600000, keep_ms = 7 * 86400000, keep_dead_ms = 30 * 86400000, gone_ms = 30 * 86400000}
local SLACK_MS = 86400000   -- keys of ended jobs expire so much after the reaper should have removed them

local function setting(name)
    return tonumber(call('HGET', P .. 'conf', name) or '') or KEEP[name]
end

-- an ended job: keys expire, archive and purge are due, the next equal request can be answered from it
local function retire(job)
    local now, keep = now_ms(), setting(job.state == 'dead' and 'keep_dead_ms' or 'keep_ms')
    call('ZADD', P .. 'arch', int(now + setting('archive_ms')), job.id)
    call('ZADD', P .. 'purge', int(now + keep), job.id .. '/' .. job.tenant .. '/' .. job.state)
    call('PEXPIRE', P .. 'j:' .. job.id, int(keep + SLACK_MS))
    call('PEXPIRE', P .. 'ev:' .. job.id, int(keep + SLACK_MS))
    if job.state == 'dead' then call('ZADD', P .. 'dead', int(now), job.id) end
    -- stopped early: not what an equal request would give; another build's worker: neither
    if job.state == 'succeeded' and job.stop == '' and (job.digest or '') ~= '' and job.build == job.digest_build then
        call('SET', P .. 'cache:' .. job.tenant .. ':' .. job.digest, job.id, 'PX', int(keep))
    end
end

-- removes fields of the hash: 'a' artifacts a:<name>, 'b' blobs b:<name> of the search
local function drop_fields(job, kinds)
    for field in pairs(job) do
        local kind = string.match(field, '^([ab]):')
        if kind and string.find(kinds, kind, 1, true) then call('HDEL', P .. 'j:' .. job.id, field) end
    end
end

local function terminal(job, state, err)
    drop_step(job)
    drop_results(job, job.epoch)
    drop_results(job, int(tonumber(job.epoch) - 1))
    drop_fields(job, 'b')   -- nobody needs them any more
    set_state(job, state)
    call('ZREM', P .. 'dl', job.id)
    call('SREM', P .. 'open:' .. job.tenant, job.id)
    call('HSET', P .. 'j:' .. job.id, 'finished', int(now_ms()), 'error', err or '')
    event(job, 'state', state)
    retire(job)
    webhook_enter(job, state)
end

-- cancel, deadline or seconds: keep the best so far by jumping to the step that writes artifacts, where there is one
local function stop_job(job, why, state_without, err)
    local discard = state_without == 'discard'
    call('HSET', P .. 'j:' .. job.id, 'stop', why)
    job.stop = why
    -- a referee's step is no writing: it ends, and what was found is written
    if (job.state == 'finalizing' or job.state == 'cancelling') and job.kind ~= 'referee' and not discard then
        if why == 'cancel' then set_state(job, 'cancelling') end
        -- what is being written leaves the proof out now: whoever is at it loses its lease, and the step begins again
        if why == 'deadline' and job.state == 'finalizing' then
            drop_step(job)
            start_step(job, tonumber(job.epoch) + 1, job.kind, 1, '', '')
        end
        event(job, 'stop', why)
        return
    end
    if job.wrap == '' or discard then
        if discard then drop_fields(job, 'a') end
        terminal(job, why == 'cancel' and 'cancelled' or 'expired', err)
        return
    end
    drop_step(job)
    drop_results(job, int(tonumber(job.epoch) - 1))
    set_state(job, why == 'cancel' and 'cancelling' or 'finalizing')
    start_step(job, tonumber(job.epoch) + 1, job.wrap, 1, '', '')
    event(job, 'stop', why)
end

-- {member, token, epoch, index, job fields ...} for whoever holds the task
local function task_reply(job, index, token)
    return {member_of(job, index), token, tonumber(job.epoch), tonumber(index), call('HGETALL', P .. 'j:' .. job.id)}
end

local function lease(job, index, token)
    local k = P .. 'k:' .. job.id .. ':' .. job.epoch
    local now = now_ms()
    call('HSET', k, 'o:' .. index, token, 's:' .. index, int(now))
    task_begins(job, index)
    claim_noted(token, member_of(job, index))
    call('ZADD', P .. 'lease', int(now + LEASE_MS), member_of(job, index))
    if job.tasks == '1' then call('HINCRBY', P .. 'j:' .. job.id, 'fence', 1) end
    if call('ZCARD', P .. 'p:' .. job.id) == 0 then run_remove(job) else ring() end
    return task_reply(job, index, token)
end

local function take(job, token)
    local popped = call('ZPOPMIN', P .. 'p:' .. job.id)
    if not popped[1] then
        run_remove(job)
        return nil
    end
    return lease(job, popped[1], token)
end

-- after a lost reply: the task that this token was given then
local function resume(job, token)
    if not job or TERMINAL[job.state] or token == '' then return nil end
    local held = call('HGETALL', P .. 'k:' .. job.id .. ':' .. job.epoch)
    for i = 1, #held, 2 do
        if held[i + 1] == token and string.sub(held[i], 1, 2) == 'o:' then
            return task_reply(job, string.sub(held[i], 3), token)
        end
    end
    return nil
end

-- hello(): the doorbell's group exists
local function hello()
    if call('EXISTS', P .. 'q') == 0 or #call('XINFO', 'GROUPS', P .. 'q') == 0 then
        call('XGROUP', 'CREATE', P .. 'q', 'w', '0', 'MKSTREAM')
    end
    return 1
end

-- a task of this job for this build; nil: none. A build that nobody has seen for a while gives its jobs up, sooner those
-- that were told to end.
local function claim_job(id, token, build)
    local look = call('HMGET', P .. 'j:' .. id, 'build', 'stop', 'a:plan.json', 'b:incumbent')
    local pinned, stopped = look[1] or '', (look[2] or '') ~= ''
    local gone = false
    if pinned ~= '' and pinned ~= build then
        local seen = call('ZSCORE', P .. 'builds', pinned)
        gone = not seen or tonumber(seen) < now_ms() - (stopped and LEASE_MS or BUILD_GONE_MS)
        if not gone then return nil end
    end
    local job = load(id)
    if not job then return nil, 'gone' end
    if gone and (not stopped or look[3] or look[4]) then   -- else there is nothing to keep: this build tries the step as it is
        restart(job, build)
        job.build = build
    end
    if job.build == '' then
        call('HSET', P .. 'j:' .. id, 'build', build, 'started', int(now_ms()))
        call('HINCRBY', P .. 'j:' .. id, 'attempt', 1)
        set_state(job, 'validating')
        event(job, 'state', 'validating')
    end
    return take(job, token)
end

-- claim(token, build, tenant of the last task or '') -> task or nil. The same token is given the same task again.
local function claim(keys, args)
    local over, task = claim_before(args[1])
    if over then return task end
    return run_claim(args[1], args[2], args[3] or '', claim_job)
end

-- beat(worker, build, host, threads, member, token ...) -> {1 held | 0 lost ..., 1 drain | 0 go on}
local function beat(keys, args)
    local now, held = now_ms(), {}
    call('HSET', P .. 'w:' .. args[1], 'build', args[2], 'host', args[3], 'threads', args[4], 'beat', int(now))
    call('HSETNX', P .. 'w:' .. args[1], 'began', int(now))
    call('EXPIRE', P .. 'w:' .. args[1], 15)
    call('ZADD', P .. 'builds', int(now), args[2])
    call('ZADD', P .. 'workers', int(now), args[1])
    for i = 5, #args, 2 do
        local id, _, epoch, index = parse_member(args[i])
        local who = id and call('HMGET', P .. 'k:' .. id .. ':' .. epoch, 'o:' .. index, 'x:' .. index) or {}
        local mine = who[1] == args[i + 1] and call('ZSCORE', P .. 'lease', args[i])
        if mine then call('ZADD', P .. 'lease', int(now + LEASE_MS), args[i]) end
        held[#held + 1] = (mine or who[2] == args[i + 1]) and 1 or 0
    end
    held[#held + 1] = call('SISMEMBER', P .. 'drain', args[1])
    return held
end

-- the job when this member is a task of its present step, held by this token
local function held_job(member, token)
    local id, kind, epoch, index = parse_member(member)
    local job = id and load(id)
    if not job or TERMINAL[job.state] or job.epoch ~= epoch or job.kind ~= kind then return nil, job end
    if call('HGET', P .. 'k:' .. id .. ':' .. epoch, 'o:' .. index) ~= token then return nil, job end
    return job, job, index
end

-- task_done(member, token, digest, payload, next token) -> {'more'|'stale'|'duplicate'} or {'next', task}: another one of
-- the step, or its join. An empty next token takes none of the step's.
-- Results carry no fence: the first is kept, a later one must be byte-equal.
local function task_done(keys, args)
    local member, token, digest, payload, next_token = args[1], args[2], args[3], args[4], args[5]
    local id, kind, epoch, index = parse_member(member)
    local job = load(id)
    if not job or TERMINAL[job.state] or job.epoch ~= epoch or job.kind ~= kind then
        local again = resume(job, next_token)
        if again then return {'next', again} end
        local kept = call('HGET', P .. 'k:' .. id .. ':' .. epoch, 'r:' .. index)   -- until the join is done
        if kept and kept ~= digest then count('nondeterminism') end
        count('tasks:' .. kind .. ':stale')
        return {'stale'}
    end
    local k = P .. 'k:' .. id .. ':' .. epoch
    local before = call('HGET', k, 'r:' .. index)
    if before then
        local again = resume(job, next_token)
        if again then return {'next', again} end
        if before ~= digest then count('nondeterminism') end
        count('tasks:' .. kind .. ':duplicate')
        return {'duplicate'}
    end
    task_ends(job, index)
    local since = tonumber(call('HGET', k, 's:' .. index) or '')
    if since then call('HINCRBY', k, 'ms', int(math.max(0, now_ms() - since))) end
    task_noted(job, index, token)
    call('HSET', k, 'r:' .. index, digest)
    call('HDEL', k, 'o:' .. index, 'x:' .. index, 's:' .. index)
    call('HSET', P .. 'd:' .. id .. ':' .. epoch, index, payload)
    call('ZREM', P .. 'lease', member)
    call('ZREM', P .. 'p:' .. id, index)
    count('tasks:' .. kind .. ':ok')
    local done = call('HINCRBY', P .. 'j:' .. id, 'done', 1)
    call('HINCRBY', P .. 'j:' .. id, 'tasks_done', 1)
    call('HINCRBY', P .. 'j:' .. id, 'ver', 1)
    call('HINCRBY', P .. 'j:' .. id, 'silent', 1)   -- visible changes without an event
    if done < tonumber(job.tasks) then
        local another = next_token ~= '' and run_more(job, next_token, take)
        return another and {'next', another} or {'more'}
    end
    start_step(job, tonumber(epoch) + 1, job.join, 1, '', job.wrap)
    return {'next', run_next(job, next_token, take)}
end

-- epoch_commit(member, token, next token, kind, tasks, join, wrap, state, progress, rollouts, dropped,
-- field, value ...)
-- -> {'stale'|'fenced'} or {'next', task}. Fields are b:<name> and a:<name>; an empty value removes the field.
local function epoch_commit(keys, args)
    local member, token, next_token = args[1], args[2], args[3]
    local job, any = held_job(member, token)
    if not job then
        local again = resume(any, next_token)
        if again then return {'next', again} end
        count('fenced')
        return {'fenced'}
    end
    local key, kind, tasks = P .. 'j:' .. job.id, args[4], tonumber(args[5])
    job.committing = job.fence
    for i = 12, #args, 2 do
        if args[i + 1] == '' then call('HDEL', key, args[i]) else call('HSET', key, args[i], args[i + 1]) end
    end
    if args[9] ~= '' then call('HSET', key, 'progress', args[9]) end
    local rollouts = tonumber(args[10]) - tonumber(job.rollouts or '0')
    if rollouts > 0 then rollouts_noted(job, rollouts) end
    task_noted(job, '0', token)
    local dropped = tonumber(args[11]) - tonumber(job.dropped or '0')
    if dropped > 0 then count('edges_dropped', dropped) end
    call('HSET', key, 'rollouts', args[10], 'dropped', args[11])
    count('tasks:' .. job.kind .. ':ok')
    call('HINCRBY', key, 'tasks_done', 1)
    drop_step(job)
    drop_results(job, job.epoch)
    drop_results(job, int(tonumber(job.epoch) - 1))
    local join, wrap, state = args[6], args[7], args[8]
    local limit, began = tonumber(job.seconds_ms or '0'), tonumber(job.search_started or '')
    if tasks > 1 and not began then
        began = now_ms()
        call('HSET', key, 'search_started', int(began))
        if limit > 0 and job.stop == '' then call('ZADD', P .. 'dl', 'LT', int(began + limit), job.id) end   -- reap does not wait for a step's end
    end
    if limit > 0 and began and wrap ~= '' and job.stop == '' and kind ~= 'referee' and now_ms() - began > limit then
        kind, tasks, join, wrap, state = wrap, 1, '', '', 'finalizing'
        call('HSET', key, 'stop', 'seconds')
    end
    if job.state ~= 'cancelling' then set_state(job, state) end
    start_step(job, tonumber(job.epoch) + 1, kind, tasks, join, wrap)
    event(job, 'step', kind, args[9])
    return {'next', run_next(job, next_token, take)}
end

-- finish(member, token, state, error, progress, field, value ...) -> 'ok' | 'fenced': the terminal transition
local function finish(keys, args)
    local job, any, index = held_job(args[1], args[2])
    if not job then
        if any and TERMINAL[any.state] and any.last == args[2] then return 'ok' end
        count('fenced')
        return 'fenced'
    end
    local key, state = P .. 'j:' .. job.id, args[3]
    -- claims of one task of several are not counted: the one that ends the job is
    job.committing = job.tasks == '1' and job.fence or int(call('HINCRBY', key, 'fence', 1))
    if state ~= 'failed' then drop_fields(job, 'a') end   -- what it had while it ran; now those that follow are all
    for i = 6, #args, 2 do call('HSET', key, args[i], args[i + 1]) end
    if args[5] ~= '' then call('HSET', key, 'progress', args[5]) end
    call('HSET', key, 'last', args[2])
    task_noted(job, index, args[2])
    call('HINCRBY', key, 'tasks_done', 1)
    count('tasks:' .. job.kind .. (state == 'failed' and ':failed' or ':ok'))
    if job.stop == 'cancel' then state = 'cancelled' end
    terminal(job, state, args[4])
    return 'ok'
end

-- cancel(id, discard) -> {'ok'|'terminal'|'missing', state}
local function cancel(keys, args)
    local job = load(args[1])
    if not job then return {'missing', ''} end
    if TERMINAL[job.state] then return {'terminal', job.state} end
    if job.stop ~= 'cancel' or args[2] == '1' then stop_job(job, 'cancel', args[2] == '1' and 'discard' or '', '') end
    return {'ok', job.state}
end

-- only submit (library_jobs.lua) is refused when memory is short: what is under way can end
local function register(name, callback, flags)
    redis.register_function{function_name = 'toast_' .. name .. '_' .. V, callback = callback, flags = flags}
end
register('hello', hello, {'allow-oom'})
register('claim', claim, {'allow-oom'})
register('beat', beat, {'allow-oom'})
register('task_done', task_done, {'allow-oom'})
register('epoch_commit', epoch_commit, {'allow-oom'})
register('finish', finish, {'allow-oom'})
register('cancel', cancel, {'allow-oom'})
