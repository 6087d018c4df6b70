-- Who did what, for people: each finished task of a job with its worker and time, and what each worker has done. Nothing
-- depends on it. Continues library.lua (same chunk).
--
--   {t}:tl:<id>  stream, about 400 entries: t kind/epoch/index, w token of its worker, s began (ms); the entry's id is its end
--   {t}:w:<worker> tasks, rollouts since `began` (ms); gone with the worker's beats

local TASKS_SHOWN = 400

local function credit(worker, field, by)
    local key = P .. 'w:' .. worker
    if call('EXISTS', key) == 1 then call('HINCRBY', key, field, int(by)) end
end

-- a task of the present step ended; its keys are still there
function task_noted(job, index, token)
    local k, key = P .. 'k:' .. job.id .. ':' .. job.epoch, P .. 'tl:' .. job.id
    local since, worker = call('HGET', k, 's:' .. index), string.match(token, '^(.*)#')
    call('XADD', key, 'MAXLEN', '~', TASKS_SHOWN, '*', 't', job.kind .. '/' .. job.epoch .. '/' .. index, 'w', token,
         's', since or '0')
    call('PEXPIRE', key, int(KEEP.keep_dead_ms))
    if since then
        count('task_ms:' .. job.kind, int(math.max(0, now_ms() - tonumber(since))))
        count('task_timed:' .. job.kind)
    end
    if not worker then return end
    credit(worker, 'tasks', 1)
    if job.tasks ~= '1' then call('HSET', k, 'w:' .. index, worker) end
end

-- a merge committed so many rollouts: the tasks of the step before did equal shares of them
function rollouts_noted(job, rollouts)
    count('rollouts', rollouts)
    local done = call('HGETALL', P .. 'k:' .. job.id .. ':' .. int(tonumber(job.epoch) - 1))
    local workers, all = {}, 0
    for i = 1, #done, 2 do
        if string.sub(done[i], 1, 2) == 'w:' then
            workers[done[i + 1]] = (workers[done[i + 1]] or 0) + 1
            all = all + 1
        end
    end
    for worker, tasks in pairs(workers) do credit(worker, 'rollouts', math.floor(rollouts * tasks / all)) end
end
