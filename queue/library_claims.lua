-- Claims whose answers were lost. Continues library.lua (same chunk).
--
--   {t}:c:<slot>   string: "<token> <member>", CLAIM_MS: token <slot>.<n> was given this task, by a claim or with an answer
--
-- A slot works on one task at a time and numbers its tokens (workers/slot.c, clients/python .. serve.py). So of one that
-- claims two things are known. Under the same token it asks once more: what that token was given is its answer. Under a later
-- one it has nothing: what an earlier token still holds was given to nobody, and is free at once instead of when its lease
-- ends. A claim with an earlier token than the last that was given something comes late: nobody listens, it gets nothing. A
-- token without a number is a slot of its own.

local CLAIM_MS = 86400000   -- no request is later than that, by a clock that may be set

local function slot_of(token)
    local slot, n = string.match(token, '^(.+)%.(%d+)$')
    return slot or token, tonumber(n or '0')
end

claim_noted = function(token, member)
    call('SET', P .. 'c:' .. slot_of(token), token .. ' ' .. member, 'PX', CLAIM_MS)
end

-- number of the last token of the slot that was given a task (-1: none was), and the task, while that token holds it
local function last_given(slot)
    local token, member = string.match(call('GET', P .. 'c:' .. slot) or '', '^(.*) (%S+)$')
    if not token then return -1 end
    local _, n = slot_of(token)
    local job, _, index = held_job(member, token)
    if not job or not call('ZSCORE', P .. 'lease', member) then return n end
    return n, member, job, index
end

-- -> whether the claim is answered by what was given before, and how
claim_before = function(token)
    local slot, n = slot_of(token)
    local last, member, job, index = last_given(slot)
    if last > n then return true, nil end
    if last == n and member then
        call('ZADD', P .. 'lease', int(now_ms() + LEASE_MS), member)
        return true, task_reply(job, index, token)
    end
    if member then requeue(member, true) end
    return last == n and slot ~= token, nil   -- a number's task is over: the claim that was given it comes again, late
end

-- unclaim(token): who leaves, or rests, before a claim was answered gives back what that token was given or will be
local function unclaim(keys, args)
    local slot, n = slot_of(args[1])
    local last, member = last_given(slot)
    if last > n then return 0 end
    if member then requeue(member, last < n) end
    claim_noted(args[1], '-')
    return member and 1 or 0
end

register('unclaim', unclaim, {'allow-oom'})
